"""A class archive (JEP 350): parsed classes in a file that the JVM maps, which halves a broker's start.

Two brokers started at once on two cores answer after 2.4 s instead of 4.8 s. Other than
-XX:TieredStopAtLevel it changes nothing in how the code runs later, so benchmarks may use it.
"""

from __future__ import annotations

import os
from pathlib import Path

from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.java import STOCK_JVM_FLAGS, Java, java_command
from sparkmirror.embedded.maven import Progress, jar_path
from sparkmirror.embedded.ports import HOST, reserve_port
from sparkmirror.embedded.probe import sees_brokers
from sparkmirror.embedded.settings import Node, plan_settings, properties_text
from sparkmirror.embedded.storage import format_nodes
from sparkmirror.embedded.versions import KafkaVersion

TRAINING_DEADLINE_S = 60.0


def class_archive(home: Path, java: Java) -> Path:
    return home / f"classes-{java.build}.jsa"


def archive_flags(archive: Path | None) -> list[str]:
    """`auto` makes the JVM go on without an archive that does not fit."""
    return [] if archive is None else ["-Xshare:auto", f"-XX:SharedArchiveFile={archive}"]


def train_archive(version: KafkaVersion, home: Path, java: Java, archive: Path, progress: Progress) -> None:
    """Runs one broker until it answers and has it write `archive` as it ends; an empty file if that fails."""
    progress("making a class archive, so that brokers start in half the time")
    work = home.with_name(f"{home.name}.{os.getpid()}.training")
    made = work / "classes.jsa"
    guard = Guard(work, temporary=True)
    try:
        _run_broker(version, home, java, made, guard)
        if not made.exists():
            made.touch()
        made.rename(archive)
    finally:
        guard.close()


def _run_broker(version: KafkaVersion, home: Path, java: Java, made: Path, guard: Guard) -> None:
    work = made.parent
    ports = [reserve_port(), reserve_port()]
    node = Node(1, HOST, ports[0].number, ports[1].number, work / "data")
    format_nodes([node], home / "bootstrap.checkpoint")
    settings = work / "server.properties"
    settings.write_text(properties_text(plan_settings(version, node, [node], {})))
    flags = ["-Xmx512m", *STOCK_JVM_FLAGS, f"-XX:ArchiveClassesAtExit={made}"]
    command = java_command(
        java,
        class_path=jar_path(home),
        flags=flags,
        main="kafka.Kafka",
        arguments=[str(settings)],
        log=work / "server.log",
    )
    child = guard.spawn(command, output=work / "console.log")
    waited_s = 0.0
    while (
        waited_s < TRAINING_DEADLINE_S
        and not child.wait(0.1)
        and not sees_brokers(node.host, node.port, frozenset({1}))
    ):
        waited_s += 0.1
    child.end(TRAINING_DEADLINE_S)
    for port in ports:
        port.release()
