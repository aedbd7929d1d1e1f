"""Finds the Java that runs the brokers, or Spark, and builds command lines."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.errors import SetupError

OLDEST_JAVA = 17

# KAFKA_JVM_PERFORMANCE_OPTS of Kafka's own kafka-run-class.sh: benchmarks must run what users run.
STOCK_JVM_FLAGS: tuple[str, ...] = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


@dataclass(frozen=True)
class Java:
    """One Java on this machine. `build` differs between any two that can't share a class archive."""

    path: Path
    major: int
    build: str


def find_java(who: str = "Kafka") -> Java:
    """The Java of JAVA_HOME, else of the PATH. `who` needs it."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None or not os.access(found, os.X_OK):
        where = f"in JAVA_HOME={home}" if home else "on the PATH"
        raise SetupError(f"{who} needs Java {OLDEST_JAVA} or newer and there is none {where}: install a JDK.")
    banner = _version_banner(found)
    major = parse_major(banner)
    if major is None or major < OLDEST_JAVA:
        raise SetupError(f"{who} needs Java {OLDEST_JAVA} or newer and {found} is older: install a newer JDK.")
    return Java(Path(found), major, hashlib.sha256(banner.encode()).hexdigest()[:12])


def parse_major(banner: str) -> int | None:
    """`openjdk version "17.0.15"` is 17; before Java 9 it was `"1.8.0_292"`, which is 8."""
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(match.group(1)) if match else None


@functools.cache
def _version_banner(path: str) -> str:
    done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False)
    return done.stderr


def java_command(
    java: Java, *, class_path: str, flags: Sequence[str], main: str, arguments: Sequence[str], log: Path
) -> list[str]:
    """A command line whose log goes to the rolling file `log`."""
    settings = Path(__file__).with_name("log4j2.xml")
    logging = [f"-Dlog4j2.configurationFile={settings}", f"-Dsparkmirror.log={log}"]
    return [str(java.path), *flags, *logging, "-cp", class_path, main, *arguments]
