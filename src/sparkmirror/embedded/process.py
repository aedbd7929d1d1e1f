"""A child process with a log file: what brokers, ZooKeeper and MirrorMaker 2 have in common."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sparkmirror.embedded.guard import Child, Guard
from sparkmirror.embedded.logfile import read_tail
from sparkmirror.errors import SetupError


class LoggedProcess:
    """May be started again once it has ended. What it writes to its console goes beside its log."""

    def __init__(self, name: str, log_path: Path) -> None:
        self._name = name
        self._child: Child | None = None
        self.log_path = log_path

    @property
    def pid(self) -> int:
        """Of the running process, or of the last one."""
        return self._started().pid

    @property
    def running(self) -> bool:
        """Also true while paused."""
        return self._child is not None and self._child.running

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._started().kill()

    def _spawn(self, guard: Guard, command: Sequence[str]) -> None:
        self._child = guard.spawn(command, output=self._console)

    def _started(self) -> Child:
        if self._child is None:
            raise SetupError(f"{self._name} has not been started.")
        return self._child

    def _wait_until(self, is_ready: Callable[[], bool], deadline_s: float, poll_s: float) -> None:
        """Asks every `poll_s`; an error with the end of the log if the process ends or `deadline_s` is over."""
        child = self._started()
        deadline = time.monotonic() + deadline_s
        while not is_ready():
            if child.wait(poll_s):
                raise SetupError(f"{self._name} ended with status {child.status}. {self._tail()}")
            if time.monotonic() > deadline:
                raise SetupError(f"{self._name} was not ready after {deadline_s:.0f} s. {self._tail()}")

    @property
    def _console(self) -> Path:
        return self.log_path.with_name("console.log")

    def _tail(self) -> str:
        return read_tail(self.log_path, self._console)
