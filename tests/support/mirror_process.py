"""`sparkmirror run` as a child process that a test can signal, kill and read."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

START_DEADLINE_S = 60.0


def properties(
    source: str, target: str, topics: str, extra: Mapping[str, str] | None = None, *, alias: str = "A"
) -> str:
    """A flow A->B between two clusters. With another alias for A it follows no driver of an earlier test."""
    lines = {
        "clusters": f"{alias}, B",
        f"{alias}.bootstrap.servers": source,
        "B.bootstrap.servers": target,
        f"{alias}->B.enabled": "true",
        f"{alias}->B.topics": topics,
        "replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "tasks.max": "2",
        "lease.seconds": "5",
        "spark.ui.enabled": "false",
    } | dict(extra or {})
    return "\n".join(f"{key} = {value}" for key, value in lines.items()) + "\n"


class MirrorProcess:
    """A context manager; whatever is left at the end is killed, tree and all. `program`: Python, run in its place."""

    def __init__(self, text: str, *arguments: str, program: str = "") -> None:
        self._program = program
        self.folder = Path(tempfile.mkdtemp(prefix="sparkmirror-test-"))
        self.file = self.folder / "mm2.properties"
        self.file.write_text(text)
        self.status_file = self.folder / "status.json"
        self.log_path = self.folder / "log.txt"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._tree: dict[int, psutil.Process] = {}

    def __enter__(self) -> MirrorProcess:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        self.kill()
        if kind is not None:
            print(f"--- log of {self.file}\n{self.log()[-8000:]}")

    def start(self) -> MirrorProcess:
        script = str(Path(sys.executable).with_name("sparkmirror"))
        command = [*([sys.executable, "-c", self._program] if self._program else [script]), "run", str(self.file)]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--status-file", str(self.status_file), *self._arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def status(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads(self.status_file.read_text()))
        return {}

    def children(self, command: str) -> list[psutil.Process]:
        """Those in whose command line this stands."""
        found = []
        for process in self.tree()[1:]:
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(command in word for word in process.cmdline()):
                    found.append(process)
        return found

    def wait(self, deadline_s: float) -> int:
        """The exit code."""
        return self.process.wait(timeout=deadline_s)

    def await_log(self, text: str, deadline_s: float = START_DEADLINE_S) -> None:
        until = time.monotonic() + deadline_s
        while text not in self.log():
            assert self.process.poll() is None, f"the mirror ended:\n{self.log()[-4000:]}"
            assert time.monotonic() < until, f"no {text!r} within {deadline_s:g} s:\n{self.log()[-4000:]}"
            time.sleep(0.05)

    def terminate(self, deadline_s: float = 10.0) -> tuple[int, float]:
        """SIGTERM; exit code and seconds until the end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=deadline_s)
        return code, time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL for everything that the mirror has started, at once."""
        if self._process is None:
            return
        victims = self.tree()
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        psutil.wait_procs(victims, timeout=10)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)

    def kill_driver(self) -> None:
        """SIGKILL for the driver alone: Spark's JVM and workers must notice and end by themselves."""
        self.process.kill()
        self.process.wait(timeout=5)

    def tree(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.process.pid)
            for process in [root, *root.children(recursive=True)]:
                self._tree[process.pid] = process
        return [p for p in self._tree.values() if p.is_running()]
