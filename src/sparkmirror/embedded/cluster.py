"""A Kafka cluster of N broker processes, and a ZooKeeper for versions that need one."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sparkmirror.embedded.archive import archive_flags
from sparkmirror.embedded.broker import START_DEADLINE_S, STOP_DEADLINE_S, Broker
from sparkmirror.embedded.distribution import Distribution, prepare
from sparkmirror.embedded.guard import Guard, temporary_directory
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.maven import Progress
from sparkmirror.embedded.ports import HOST, ReservedPort, reserve_chosen_port, reserve_port
from sparkmirror.embedded.settings import Listener, Node, plan_settings, properties_text, voter_count
from sparkmirror.embedded.storage import format_nodes
from sparkmirror.embedded.versions import KAFKA_VERSION
from sparkmirror.embedded.zookeeper import ZooKeeper
from sparkmirror.errors import SetupError

TEMPORARY_STOP_DEADLINE_S = 1.0


class KafkaCluster:
    """Real brokers on loopback ports, with their data in `directory` or in a temporary folder.

    Brokers and their addresses exist from `start` on and keep their ports through any restart. A cluster is
    started once: for another run on the same data make another one with the same `directory`. Clients find the
    brokers on `ports`, one each, or on any free ones. `listeners`: others than PLAINTEXT, by name, with their
    protocol; what they need beside that stands in `overrides`. Clients of those in `proxied` are sent to another
    port, where a proxy of the caller's is expected.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        directory: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        ports: Sequence[int] | None = None,
        listeners: Mapping[str, str] | None = None,
        proxied: Collection[str] = (),
        name: str = "kafka",
        heap_mb: int = 512,
        jvm_flags: Sequence[str] = STOCK_JVM_FLAGS,
        version: str = KAFKA_VERSION,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self.directory = directory.absolute() if directory else temporary_directory(name)
        self._temporary = directory is None
        self._size = brokers
        self._chosen_ports = dict(enumerate(ports or (), start=1))
        self._listeners = dict(listeners or {})
        self._proxied = frozenset(proxied)
        self._overrides = dict(overrides or {})
        self._jvm_flags = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", *jvm_flags]
        self.version = version
        self._progress = progress
        self._guard: Guard | None = None
        self._zookeeper: ZooKeeper | None = None
        self._ports: list[ReservedPort] = []
        self._brokers: list[Broker] = []

    @property
    def brokers(self) -> Sequence[Broker]:
        return tuple(self._brokers)

    @property
    def bootstrap_servers(self) -> str:
        if not self._brokers:
            raise SetupError(f"Cluster {self.name} has no addresses before it is started.")
        return ",".join(f"{broker.host}:{broker.port}" for broker in self._brokers)

    def servers_of(self, listener: str) -> str:
        """Where clients find one of the other listeners."""
        return ",".join(f"{broker.host}:{broker.advertised_port_of(listener)}" for broker in self._brokers)

    def start(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Starts all brokers at once; returns when each answers and sees all others."""
        start_clusters(self, deadline_s=deadline_s)

    def launch(self) -> None:
        """The first half of `start`: the processes run but may not answer yet."""
        if self._guard is not None:
            raise SetupError(f"Cluster {self.name} was started before: make another one.")
        distribution = prepare(self.version, progress=self._progress)
        if not self._temporary:
            self.directory.mkdir(parents=True, exist_ok=True)
        self._guard = Guard(self.directory, temporary=self._temporary)
        if distribution.version.zookeeper:
            nodes = self._plan_nodes(voters=0)
            folder = self.directory / "zookeeper"
            self._zookeeper = ZooKeeper(folder, self._reserve(), distribution, self._guard, self.name)
            self._zookeeper.start()
        else:
            nodes = self._plan_nodes(voters=voter_count(self._size))
            format_nodes(nodes, distribution.bootstrap_checkpoint)
        for node in nodes:
            self._brokers.append(self._make_broker(node, nodes, distribution, self._guard))
        for broker in self._brokers:
            broker.start()

    def wait_ready(self, deadline_s: float = START_DEADLINE_S) -> None:
        """The second half of `start`."""
        deadline = time.monotonic() + deadline_s
        everyone = frozenset(broker.id for broker in self._brokers)
        for broker in self._brokers:
            broker.wait_ready(max(deadline - time.monotonic(), 0), sees=everyone)

    def stop(self, deadline_s: float | None = None) -> None:
        """SIGTERM to all at once, SIGKILL to those that are left after `deadline_s`. May be called twice.

        Voters that stop together wait 5 s for a quorum that can't come back. Data that is thrown away does
        not need it, so a temporary cluster has 1 s by default. ZooKeeper ends with the guard.
        """
        if self._guard is None:
            return
        if deadline_s is None:
            deadline_s = TEMPORARY_STOP_DEADLINE_S if self._temporary else STOP_DEADLINE_S
        deadline = time.monotonic() + deadline_s
        for broker in self._brokers:
            broker.ask_to_stop()
        for broker in self._brokers:
            broker.stop(max(deadline - time.monotonic(), 0))
        self._guard.close()
        for port in self._ports:
            port.release()

    def __enter__(self) -> Self:
        """Starts the cluster unless `start_clusters` did."""
        if self._guard is None:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _plan_nodes(self, voters: int) -> list[Node]:
        return [
            Node(
                id=number,
                host=HOST,
                port=self._reserve(self._chosen_ports.get(number)),
                controller_port=self._reserve() if number <= voters else None,
                data=self.directory / f"broker-{number}" / "data",
                more={name: self._plan_listener(name, protocol) for name, protocol in self._listeners.items()},
            )
            for number in range(1, self._size + 1)
        ]

    def _plan_listener(self, name: str, protocol: str) -> Listener:
        return Listener(self._reserve(), protocol, self._reserve() if name in self._proxied else None)

    def _reserve(self, chosen: int | None = None) -> int:
        self._ports.append(reserve_port() if chosen is None else reserve_chosen_port(chosen))
        return self._ports[-1].number

    def _make_broker(self, node: Node, nodes: Sequence[Node], distribution: Distribution, guard: Guard) -> Broker:
        zookeeper = self._zookeeper
        address = zookeeper.address if zookeeper else ""
        folder = node.data.parent
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "server.properties"
        settings.write_text(properties_text(plan_settings(distribution.version, node, nodes, self._overrides, address)))
        log = folder / "server.log"
        flags = [*self._jvm_flags, *archive_flags(distribution.archive)]
        command = distribution.command("kafka.Kafka", str(settings), flags=flags, log=log)
        if zookeeper is None:
            return Broker(node, guard, command, log, self.name)
        return Broker(node, guard, command, log, self.name, lambda: zookeeper.wait_forgotten(node.id))


def start_clusters(*clusters: KafkaCluster, deadline_s: float = START_DEADLINE_S) -> None:
    """Starts several clusters side by side. If one fails, none is left running."""
    try:
        for cluster in clusters:
            cluster.launch()
        for cluster in clusters:
            cluster.wait_ready(deadline_s)
    except BaseException:
        for cluster in clusters:
            cluster.stop(deadline_s=0)
        raise
