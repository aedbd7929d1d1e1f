"""Kafka's console tools, as its shell scripts start them: of 3.2, whose jars are those of a broker."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from sparkmirror.embedded import prepare

VERSION = "3.2.0"
TOPICS, PRODUCER, CONSUMER = "kafka.admin.TopicCommand", "kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"
FLAGS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def run_tool(main: str, *arguments: str, typed: str = "", deadline_s: float = 60.0) -> list[str]:
    """The lines that it prints until it ends by itself."""
    with tempfile.TemporaryDirectory(prefix="sparkmirror-tool-") as folder:
        command = prepare(VERSION).command(main, *arguments, flags=FLAGS, log=Path(folder) / "tool.log")
        done = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=deadline_s, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def console_produce(servers: str, topic: str, lines: list[str]) -> None:
    run_tool(PRODUCER, "--bootstrap-server", servers, "--topic", topic, typed="".join(f"{line}\n" for line in lines))


def console_consume(servers: str, topic: str, group: str, *, idle_s: float) -> list[str]:
    """From the beginning unless the group has committed; until nothing has come for so long."""
    group_words = ("--group", group, "--from-beginning", "--timeout-ms", str(int(idle_s * 1000)))
    return run_tool(CONSUMER, "--bootstrap-server", servers, "--topic", topic, *group_words)


def list_topics(servers: str) -> list[str]:
    return run_tool(TOPICS, "--bootstrap-server", servers, "--list")
