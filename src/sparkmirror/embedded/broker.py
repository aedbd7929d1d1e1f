"""One broker process that can be stopped, killed, paused and started again at the same address."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from pathlib import Path

from sparkmirror.embedded.guard import Child, Guard
from sparkmirror.embedded.logfile import read_tail
from sparkmirror.embedded.probe import sees_brokers
from sparkmirror.embedded.settings import Node
from sparkmirror.errors import SetupError

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 15.0
POLL_S = 0.02


class Broker:
    def __init__(self, node: Node, guard: Guard, command: Sequence[str], log_path: Path, name: str) -> None:
        self._node = node
        self._guard = guard
        self._command = command
        self._name = f"Broker {node.id} of cluster {name}"
        self._child: Child | None = None
        self.log_path = log_path

    @property
    def id(self) -> int:
        return self._node.id

    @property
    def host(self) -> str:
        return self._node.host

    @property
    def port(self) -> int:
        return self._node.port

    @property
    def data_path(self) -> Path:
        return self._node.data

    @property
    def pid(self) -> int:
        """Of the running process, or of the last one."""
        return self._started().pid

    @property
    def running(self) -> bool:
        """Also true while paused."""
        return self._child is not None and self._child.running

    def start(self) -> None:
        """Starts the process and returns at once; see `wait_ready`."""
        if not self.running:
            self._child = self._guard.spawn(self._command, output=self._console)

    def wait_ready(self, deadline_s: float = START_DEADLINE_S, *, sees: frozenset[int] = frozenset()) -> None:
        """Returns when this broker answers and holds itself, and those in `sees`, for registered and alive.

        A broker that restarts replays its new, fenced registration before it takes requests, so the entry it
        shows of itself is not an old one.
        """
        child = self._started()
        wanted = sees | {self.id}
        deadline = time.monotonic() + deadline_s
        while not sees_brokers(self.host, self.port, wanted):
            if child.wait(POLL_S):
                raise SetupError(f"{self._name} ended with status {child.status}. {self._tail()}")
            if time.monotonic() > deadline:
                raise SetupError(f"{self._name} was not ready after {deadline_s:.0f} s. {self._tail()}")

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """A controlled shutdown; SIGKILL once `deadline_s` is over."""
        if self._child is not None:
            self._child.end(deadline_s)

    def ask_to_stop(self) -> None:
        """SIGTERM without waiting, so that a cluster can stop all of its brokers at once."""
        if self._child is not None:
            self._child.ask_to_end()

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._started().kill()

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing answers, as with a hung machine."""
        self._started().signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._started().signal(signal.SIGCONT)

    @property
    def _console(self) -> Path:
        return self.log_path.with_name("console.log")

    def _started(self) -> Child:
        if self._child is None:
            raise SetupError(f"{self._name} has not been started.")
        return self._child

    def _tail(self) -> str:
        return read_tail(self.log_path, self._console)
