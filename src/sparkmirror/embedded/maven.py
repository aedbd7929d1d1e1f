"""Fetches the jars of one Kafka version with Maven, once."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from sparkmirror.embedded.guard import Child, Guard
from sparkmirror.embedded.logfile import LogFollower, read_tail
from sparkmirror.errors import SetupError

Progress = Callable[[str], None]

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FETCH_DEADLINE_S = 900.0
TICK_S = 1.0


def fetch_jars(pom: Path, version: str, jars: Path, guard: Guard, work: Path, progress: Progress) -> None:
    """Copies what `pom` depends on into the folder `jars`. Maven runs under `guard` in the folder `work`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupError("Kafka's jars are fetched with Maven and there is none on the PATH: install Maven.")
    own_pom = work / "pom.xml"  # the package's folder may be read-only
    shutil.copyfile(pom, own_pom)
    log = work / "maven.log"
    progress(f"fetching the jars of Kafka {version} with Maven")
    options = [f"-Dkafka.version={version}", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    child = guard.spawn([maven, "-B", "--strict-checksums", "-f", str(own_pom), PLUGIN, *options], output=log)
    _follow(child, LogFollower(log), jars, progress)
    if child.status != 0:
        raise SetupError(f"Maven could not fetch Kafka's jars: is the network there? {read_tail(log)}")
    check_jars(jars, Path(__file__).with_name(f"jars-{version}.sha256").read_text())


def check_jars(folder: Path, pins: str) -> None:
    """Exactly those of the list (`sha256sum`'s lines): a repository may give others for the same version."""
    wanted = {name: digest for digest, _, name in (line.partition("  ") for line in pins.splitlines())}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")}
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        raise SetupError(f"these jars of Kafka are not those that are pinned, and none was run: {', '.join(wrong)}")


def jar_path(home: Path) -> str:
    """Sorted, since a class archive is only valid for the very same class path."""
    return ":".join(str(jar) for jar in sorted((home / "jars").glob("*.jar")))


def _follow(child: Child, log: LogFollower, jars: Path, progress: Progress) -> None:
    began = time.monotonic()
    ended = False
    while not ended:
        ended = child.wait(TICK_S)
        names = [name for line in log.read_lines() if (name := parse_jar(line))]
        for name in names:
            progress(f"fetched {name}")
        elapsed_s = time.monotonic() - began
        if not names and not ended:
            progress(f"{elapsed_s:.0f} s, {len(list(jars.glob('*.jar')))} jars in place")
        if elapsed_s > FETCH_DEADLINE_S and not ended:
            child.kill()
            raise SetupError(f"Maven fetched for {FETCH_DEADLINE_S:.0f} s without an end: is the network slow?")


def parse_jar(line: str) -> str | None:
    """`[INFO] Downloaded from central: scheme://.../x-1.jar (25 kB at 348 kB/s)` names x-1.jar."""
    match = re.search(r"Downloaded from .*/([^/ ]+\.jar) ", line)
    return match.group(1) if match else None
