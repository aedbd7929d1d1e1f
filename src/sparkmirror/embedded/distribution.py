"""One Kafka version on this machine: its jars and what is made from them, cached, then offline for ever.

<cache>/kafka-4.3.1-<hash of the pom>/
    jars/*.jar               by Maven
    bootstrap.checkpoint     by Kafka's StorageTool, see storage.format_storage
    classes-<java>.jsa       by a broker's first run, see archive.py

A version that needs ZooKeeper has only jars: it formats its folders itself, and starts quickly without an archive.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.embedded.archive import class_archive, train_archive
from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.java import Java, find_java, java_command
from sparkmirror.embedded.logfile import read_tail
from sparkmirror.embedded.maven import Progress, fetch_jars, jar_path
from sparkmirror.embedded.settings import Node, plan_settings, properties_text
from sparkmirror.embedded.storage import new_id
from sparkmirror.embedded.versions import KAFKA_VERSION, KafkaVersion, find_version
from sparkmirror.errors import SetupError

STORAGE_TOOL_DEADLINE_S = 60.0


@dataclass(frozen=True)
class Distribution:
    """A Kafka version that is ready to run. `archive` is None where there is none to be had."""

    version: KafkaVersion
    home: Path
    java: Java
    archive: Path | None

    @property
    def class_path(self) -> str:
        return jar_path(self.home)

    def command(self, main: str, *arguments: str, flags: Sequence[str], log: Path) -> list[str]:
        """A command line that runs the class `main`."""
        return java_command(self.java, class_path=self.class_path, flags=flags, main=main, arguments=arguments, log=log)

    @property
    def bootstrap_checkpoint(self) -> Path:
        return self.home / "bootstrap.checkpoint"


def cache_root() -> Path:
    chosen = os.environ.get("SPARKMIRROR_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "sparkmirror"


def prepare(version: str = KAFKA_VERSION, *, progress: Progress | None = None) -> Distribution:
    """Fetches Kafka unless the cache has it. Two processes at once do it once."""
    report = progress or (lambda _: None)
    java = find_java()
    kind = find_version(version)
    pom = Path(__file__).with_name(kind.pom)
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    home = cache_root() / f"kafka-{version}-{digest}"
    if not home.exists():
        with _locked(home, report):
            if not home.exists():
                _fetch(kind, pom, home, java, report)
    return Distribution(kind, home, java, _ensure_archive(kind, home, java, report))


@contextlib.contextmanager
def _locked(home: Path, progress: Progress) -> Iterator[None]:
    """The kernel lets go of the lock when its holder dies, so it can't be left behind."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that gets Kafka ready")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(version: KafkaVersion, pom: Path, home: Path, java: Java, progress: Progress) -> None:
    """Whole or not at all: everything is made in a sibling folder and renamed as the last step."""
    work = home.with_name(f"{home.name}.{os.getpid()}.partial")
    guard = Guard(work, temporary=True)
    try:
        made = work / "home"
        fetch_jars(pom, version.name, made / "jars", guard, work, progress)
        if not version.zookeeper:
            _make_checkpoint(version, made, java, guard, work)
        made.rename(home)
    finally:
        guard.close()


def _make_checkpoint(version: KafkaVersion, home: Path, java: Java, guard: Guard, work: Path) -> None:
    node = Node(id=1, host="127.0.0.1", port=9092, controller_port=9093, data=work / "data")
    settings = work / "format.properties"
    settings.write_text(properties_text(plan_settings(version, node, [node], {})))
    command = java_command(
        java,
        class_path=jar_path(home),
        flags=[],
        main="kafka.tools.StorageTool",
        arguments=["format", "--cluster-id", new_id(), "--config", str(settings)],
        log=work / "format.log",
    )
    child = guard.spawn(command, output=work / "format.out")
    if not child.wait(STORAGE_TOOL_DEADLINE_S) or child.status != 0:
        raise SetupError(f"Kafka's StorageTool failed. {read_tail(work / 'format.out')}")
    (node.data / "bootstrap.checkpoint").rename(home / "bootstrap.checkpoint")


def _ensure_archive(version: KafkaVersion, home: Path, java: Java, progress: Progress) -> Path | None:
    """Only makes starts quicker, so a cache that can't be written to is no error."""
    if version.zookeeper:
        return None
    archive = class_archive(home, java)
    with contextlib.suppress(OSError):
        if not archive.exists():
            with _locked(home, progress):
                if not archive.exists():
                    train_archive(version, home, java, archive, progress)
    return archive if archive.exists() and archive.stat().st_size else None
