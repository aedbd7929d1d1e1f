"""The mirror that the demo runs: `sparkmirror run FILE`, as a process of its own.

A process and not a thread: it is what a user will run, its Python does not share a lock with the demo's load and
measurements, it can be ended for certain, and it can be told where its temporary files go. All that it leaves, Spark's
files too, lies in the demo's folder. A guardian owns both, so that neither outlives the demo, not even a killed one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

from sparkmirror.cli.demo.topics import SOURCE, TARGET, TOPICS
from sparkmirror.embedded.guard import Child, Guard, temporary_directory
from sparkmirror.embedded.logfile import LogFollower, read_tail
from sparkmirror.errors import SetupError, SparkmirrorError

STOP_S = 1.0  # what it mirrors to is thrown away: nobody should wait for a proper end
GONE_S = 0.5
KILLED_S = 5.0
POLL_S = 0.05

UI = re.compile(r"UI at (\S+)")
TROUBLE = re.compile(r"^\S+ (?:WARNING|ERROR|CRITICAL) (.*)")


class MirrorEndedError(SparkmirrorError):
    """The mirror ended by itself, which it never should."""


def properties_text(source: str, target: str) -> str:
    """The file that the demo mirrors by: what a user would write for MirrorMaker 2."""
    flow = f"{SOURCE}->{TARGET}"
    lines = [
        f"clusters = {SOURCE}, {TARGET}",
        f"{SOURCE}.bootstrap.servers = {source}",
        f"{TARGET}.bootstrap.servers = {target}",
        f"{flow}.enabled = true",
        f"{flow}.topics = {', '.join(topic.name for topic in TOPICS)}",
        "tasks.max = 2",
        "# so that a consumer group can go on on the other side soon",
        "sync.group.offsets.enabled = true",
        "sync.group.offsets.interval.seconds = 5",
        "refresh.groups.interval.seconds = 5",
        "# one broker each",
        "replication.factor = 1",
        "offset.storage.replication.factor = 1",
        "heartbeats.topic.replication.factor = 1",
        "checkpoints.topic.replication.factor = 1",
        "offset-syncs.topic.replication.factor = 1",
    ]
    return "\n".join(lines) + "\n"


class MirrorProcess:
    """Made early, since brokers use its folder too; started again after a kill."""

    def __init__(self) -> None:
        self.folder = temporary_directory("demo")
        self._guard = Guard(self.folder, temporary=True)
        self.properties = self.folder / "mm2.properties"
        self.status_file = self.folder / "status.json"
        self.log = self.folder / "mirror.log"
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()
        self.spark_ui = ""
        self.trouble = ""
        self._child: Child | None = None
        self._follower = LogFollower(self.log)

    def start(self, source: str, target: str) -> None:
        self.spark_ui = self.trouble = ""
        self.properties.write_text(properties_text(source, target))
        self._child = self._guard.spawn(self._command(), output=self.log)

    def look(self) -> None:
        """Reads what the mirror has logged, and raises if it is gone."""
        for line in self._follower.read_lines():
            if found := UI.search(line):
                self.spark_ui = found.group(1)
            if found := TROUBLE.match(line):
                self.trouble = found.group(1)
        if self._child is not None and not self._child.running:
            raise MirrorEndedError(f"The mirror ended with status {self._child.status}. {self.tail()}")

    def stopped_partitions(self) -> list[str]:
        """Those of its status file that do not go on by themselves, and why."""
        try:
            flows = json.loads(self.status_file.read_text())["flows"]
        except (OSError, ValueError, KeyError):
            return []
        stopped = [p for flow in flows for p in flow["partitions"] if p["state"] == "stopped"]
        return [f"{p['topic']}-{p['partition']}: {p['error']}" for p in stopped]

    def tail(self) -> str:
        return read_tail(self.log)

    def kill(self) -> None:
        """As a machine that loses its power: the driver, Spark's JVM and its workers, at once."""
        if self._child is not None:
            self._child.end(0.0)
        end_marked(f"TMPDIR={self.scratch}", 0.0)
        self._child = None

    @property
    def java_flags(self) -> tuple[str, ...]:
        """For any JVM of the demo: no file of it outside of the demo's folder, not even of a killed one."""
        return (f"-Djava.io.tmpdir={self.scratch}", "-XX:-UsePerfData")

    def stop(self) -> None:
        """Ends the mirror and Spark's processes; returns when they are gone."""
        if self._child is not None:
            self._child.end(STOP_S)
        end_marked(f"TMPDIR={self.scratch}", GONE_S)

    def close(self) -> None:
        """Removes the folder."""
        self._guard.close()

    def _command(self) -> list[str]:
        """Java does not look at TMPDIR, and Spark in turn not always at Java's folder."""
        env = shutil.which("env")
        if env is None:
            raise SetupError("The demo needs the program env and there is none on the PATH.")
        java = " ".join([os.environ.get("JDK_JAVA_OPTIONS", ""), *(f'"{flag}"' for flag in self.java_flags)])
        places = [f"TMPDIR={self.scratch}", f"SPARK_LOCAL_DIRS={self.scratch}", f"JDK_JAVA_OPTIONS={java}"]
        run = [sys.executable, "-m", "sparkmirror.cli.main", "run", str(self.properties)]
        return [env, *places, *run, "--status-file", str(self.status_file)]


def end_marked(mark: str, patience_s: float) -> None:
    """Ends all that carry `mark` in their environment, as descendants of the mirror do; returns when they are gone.

    Spark's JVM is in a session of its own and ends by itself a moment after its Python, so it has a little time.
    """
    if _wait_gone(mark, patience_s):
        return
    for pid in _marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _wait_gone(mark, KILLED_S)


def _wait_gone(mark: str, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while _marked(mark):
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_S)
    return True


def _marked(mark: str) -> list[int]:
    """Linux only; elsewhere nothing is found and Spark is trusted to end."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found
