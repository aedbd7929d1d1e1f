"""One ZooKeeper server, for Kafka versions that keep their cluster's state in it.

It is asked with four-letter words over a plain socket: `ruok` is answered with `imok`, and `dump` lists the
ephemeral nodes of all live sessions, among them the brokers' registrations.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from sparkmirror.embedded.distribution import Distribution
from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.ports import HOST
from sparkmirror.embedded.process import LoggedProcess
from sparkmirror.embedded.settings import plan_zookeeper_settings, properties_text
from sparkmirror.errors import SetupError

MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
# A few kilobytes of state that outlive the process in the system's cache: no large heap, no fsync.
JVM_FLAGS = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no")
START_DEADLINE_S = 30.0
FORGET_DEADLINE_S = 60.0
ASK_TIMEOUT_S = 2.0
POLL_S = 0.02


class ZooKeeper(LoggedProcess):
    def __init__(self, folder: Path, port: int, distribution: Distribution, guard: Guard, cluster: str) -> None:
        super().__init__(f"ZooKeeper of cluster {cluster}", folder / "zookeeper.log")
        self._folder = folder
        self._port = port
        self._distribution = distribution
        self._guard = guard

    @property
    def address(self) -> str:
        return f"{HOST}:{self._port}"

    def start(self) -> None:
        """Returns when it answers: a broker that comes earlier would wait for a whole second."""
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = self._folder / "zookeeper.properties"
        settings.write_text(properties_text(plan_zookeeper_settings(HOST, self._port, self._folder / "data")))
        self._spawn(self._guard, self._distribution.command(MAIN, str(settings), flags=JVM_FLAGS, log=self.log_path))
        self._wait_until(lambda: self._ask("ruok") == "imok", START_DEADLINE_S, POLL_S)

    def wait_forgotten(self, broker_id: int) -> None:
        """Returns when no broker of this id is registered.

        A killed broker stays registered until its session is over (`zookeeper.session.timeout.ms`), and one that
        finds itself registered by somebody else ends at once.
        """
        deadline = time.monotonic() + FORGET_DEADLINE_S
        while f"/brokers/ids/{broker_id}" in self._ask("dump").split():
            if time.monotonic() > deadline:
                raise SetupError(f"{self._name} still knew broker {broker_id} after {FORGET_DEADLINE_S:.0f} s.")
            time.sleep(POLL_S)

    def _ask(self, word: str) -> str:
        """Empty if it does not answer."""
        answer = bytearray()
        with (
            contextlib.suppress(OSError),
            socket.create_connection((HOST, self._port), ASK_TIMEOUT_S) as connection,
        ):
            connection.sendall(word.encode())
            while data := connection.recv(1 << 16):
                answer += data
        return answer.decode(errors="replace")
