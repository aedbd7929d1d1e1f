"""One broker process that can be stopped, killed, paused and started again at the same address."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.probe import sees_brokers
from sparkmirror.embedded.process import LoggedProcess
from sparkmirror.embedded.settings import Node

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 15.0
POLL_S = 0.02


class Broker(LoggedProcess):
    """`wait_forgotten` returns when the cluster would take a broker of this id."""

    def __init__(
        self,
        node: Node,
        guard: Guard,
        command: Sequence[str],
        log_path: Path,
        cluster: str,
        wait_forgotten: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(f"Broker {node.id} of cluster {cluster}", log_path)
        self._node = node
        self._guard = guard
        self._command = command
        self._wait_forgotten = wait_forgotten

    @property
    def id(self) -> int:
        return self._node.id

    @property
    def host(self) -> str:
        return self._node.host

    @property
    def port(self) -> int:
        return self._node.port

    def port_of(self, listener: str) -> int:
        """Of a listener other than PLAINTEXT."""
        return self._node.more[listener].port

    def advertised_port_of(self, listener: str) -> int:
        """Where clients of such a listener are sent."""
        return self._node.more[listener].advertised or self.port_of(listener)

    @property
    def data_path(self) -> Path:
        return self._node.data

    def start(self) -> None:
        """Starts the process and returns at once; see `wait_ready`.

        With ZooKeeper a broker that was killed waits here until its old session is over.
        """
        if not self.running:
            self._wait_forgotten()
            self._spawn(self._guard, self._command)

    def wait_ready(self, deadline_s: float = START_DEADLINE_S, *, sees: frozenset[int] = frozenset()) -> None:
        """Returns when this broker answers and holds itself, and those in `sees`, for registered and alive.

        The entry that a restarted broker shows of itself is not an old one: in KRaft it replays its new, fenced
        registration before it takes requests, and with ZooKeeper it knows nothing until the controller tells it.
        """
        wanted = sees | {self.id}
        self._wait_until(lambda: sees_brokers(self.host, self.port, wanted), deadline_s, POLL_S)

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """A controlled shutdown; SIGKILL once `deadline_s` is over."""
        if self._child is not None:
            self._child.end(deadline_s)

    def ask_to_stop(self) -> None:
        """SIGTERM without waiting, so that a cluster can stop all of its brokers at once."""
        if self._child is not None:
            self._child.ask_to_end()

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing answers, as with a hung machine."""
        self._started().signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._started().signal(signal.SIGCONT)
