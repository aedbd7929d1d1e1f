"""A real worker of Kafka Connect in a process of its own, and its REST interface on loopback."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from sparkmirror.embedded.distribution import prepare
from sparkmirror.embedded.guard import Guard, temporary_directory
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.ports import HOST, reserve_port
from sparkmirror.embedded.process import LoggedProcess
from tests.support.kafka_client import await_condition

MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
HEAP_FLAGS = ("-Xms128M", "-Xmx512M")
START_DEADLINE_S = 90.0
STOP_DEADLINE_S = 30.0
OFFSETS_PARTITIONS = 3
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
HEARTBEATS = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"


class ConnectWorker(LoggedProcess):
    """`name`: of its group, and its topics begin so."""

    def __init__(self, servers: str, name: str) -> None:
        self.directory = temporary_directory("connect")
        super().__init__("Kafka Connect", self.directory / "connect.log")
        self.name = name
        self._servers = servers
        self._port = reserve_port()
        self._guard: Guard | None = None

    @property
    def offsets_topic(self) -> str:
        return f"{self.name}-offsets"

    @property
    def configs_topic(self) -> str:
        return f"{self.name}-kept"  # a name that tells nothing

    def start(self) -> None:
        """Also again, after its end."""
        distribution = prepare()
        self._guard = self._guard or Guard(self.directory, temporary=True)
        file = self.directory / "connect.properties"
        file.write_text("".join(f"{key} = {value}\n" for key, value in self._settings().items()))
        flags = [*HEAP_FLAGS, *STOCK_JVM_FLAGS]
        self._spawn(self._guard, distribution.command(MAIN, str(file), flags=flags, log=self.log_path))
        self._wait_until(self._answers, START_DEADLINE_S, 0.1)

    def end(self) -> None:
        """As SIGTERM ends it: it leaves its group."""
        self._started().end(STOP_DEADLINE_S)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if kind is not None:
            print(f"--- log of {self.name}\n{self._tail()}")
        self._close()

    def put(self, name: str, properties: Mapping[str, str], *, tasks: int = 1) -> None:
        """Make or change a connector, and wait until so many of its tasks run."""
        self.ask("PUT", f"/connectors/{name}/config", dict(properties) | {"name": name})
        self.await_tasks(name, ["RUNNING"] * tasks)

    def await_tasks(self, name: str, states: list[str]) -> None:
        await_condition(lambda: self._states(name) == states, f"tasks of {name} to be {states}", 60)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer; None where it has none. While workers rebalance they refuse, so until they do not."""
        answers: list[tuple[int, bytes]] = []

        def is_taken() -> bool:
            answers.append(self._ask(method, path, body))
            return answers[-1][0] != http.client.CONFLICT

        await_condition(is_taken, f"{method} {path}", 60)
        status, said = answers[-1]
        assert status < http.client.MULTIPLE_CHOICES, (status, said)
        return json.loads(said) if said else None

    def _settings(self) -> dict[str, str]:
        converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
        return {
            "bootstrap.servers": self._servers,
            "group.id": self.name,
            "listeners": f"http://{HOST}:{self._port.number}",
            "key.converter": converter,
            "value.converter": converter,
            "header.converter": converter,
            "plugin.discovery": "service_load",
            "config.storage.topic": self.configs_topic,
            "offset.storage.topic": self.offsets_topic,
            "offset.storage.partitions": str(OFFSETS_PARTITIONS),
            "status.storage.topic": f"{self.name}-status",
            "status.storage.partitions": "1",
        } | {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}

    def _states(self, name: str) -> list[str]:
        status, said = self._ask("GET", f"/connectors/{name}/status")
        return [task["state"] for task in json.loads(said)["tasks"]] if status == http.client.OK else []

    def _answers(self) -> bool:
        try:
            return self._ask("GET", "/connectors")[0] == http.client.OK
        except OSError:
            return False

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(HOST, self._port.number, timeout=30)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _close(self) -> None:
        if self._guard is not None:
            self._guard.close()
            self._guard = None
        self._port.release()
