"""What a broker, and the ZooKeeper of an old one, are told: pure text, by Kafka's version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sparkmirror.embedded.versions import KafkaVersion

MAX_VOTERS = 3
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# Overrides for tests that kill brokers. A killed broker can't return, and its partitions have no leader, until
# its old session is over: 6 to 18 s by default, which benchmarks should keep.
QUICK_FAILOVER: Mapping[str, str] = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "zookeeper.session.timeout.ms": "3000",
}


class Listener(NamedTuple):
    """`advertised`: the port that clients are told, where something stands between them and the broker."""

    port: int
    protocol: str
    advertised: int | None = None


@dataclass(frozen=True)
class Node:
    """One broker's place in its cluster. Only voters have a controller port. `more`: other listeners, by name."""

    id: int
    host: str
    port: int
    controller_port: int | None
    data: Path
    more: Mapping[str, Listener] = field(default_factory=dict)

    @property
    def for_clients(self) -> str:
        """As `listeners` has it."""
        return self._at({name: listener.port for name, listener in self.more.items()})

    @property
    def advertised(self) -> str:
        """As `advertised.listeners` has it."""
        return self._at({name: listener.advertised or listener.port for name, listener in self.more.items()})

    def _at(self, more: Mapping[str, int]) -> str:
        return ",".join(f"{name}://{self.host}:{port}" for name, port in {"PLAINTEXT": self.port, **more}.items())

    @property
    def protocols(self) -> str:
        known = {name: name for name in PROTOCOLS} | {"CONTROLLER": "PLAINTEXT"}
        known |= {name: listener.protocol for name, listener in self.more.items()}
        return ",".join(f"{name}:{protocol}" for name, protocol in known.items())


def voter_count(brokers: int) -> int:
    """With three voters any one node may die. Two voters would be worse than one: each would be needed."""
    return MAX_VOTERS if brokers >= MAX_VOTERS else 1


def plan_settings(
    version: KafkaVersion, node: Node, nodes: Sequence[Node], overrides: Mapping[str, str], zookeeper: str = ""
) -> dict[str, str]:
    """`zookeeper`: its address, for a version that needs one."""
    replicas = str(min(len(nodes), 3))
    in_sync = "2" if len(nodes) >= 3 else "1"
    return {
        **(_zookeeper_addresses(node, zookeeper) if version.zookeeper else _kraft_addresses(node, nodes)),
        "log.dirs": str(node.data),
        "broker.rack": f"rack-{node.id}",
        "auto.create.topics.enable": "false",
        "num.partitions": "1",
        "default.replication.factor": replicas,
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": "16777216",  # 128 MB by default, a quarter of our heap
        # 50 partitions each by default: seconds of work at the first commit or transaction of every test
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": "5",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        **(_share_groups(replicas, in_sync) if version.share_groups else {}),
        **overrides,
    }


def _share_groups(replicas: str, in_sync: str) -> dict[str, str]:
    return {
        "share.coordinator.state.topic.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _kraft_addresses(node: Node, nodes: Sequence[Node]) -> dict[str, str]:
    voters = [f"{n.id}@{n.host}:{n.controller_port}" for n in nodes if n.controller_port is not None]
    listeners = [node.for_clients]
    if node.controller_port is not None:
        listeners.append(f"CONTROLLER://{node.host}:{node.controller_port}")
    return {
        "process.roles": "broker" if node.controller_port is None else "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(listeners),
        "advertised.listeners": node.advertised,
        "listener.security.protocol.map": node.protocols,
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _zookeeper_addresses(node: Node, zookeeper: str) -> dict[str, str]:
    return {
        "broker.id": str(node.id),
        "zookeeper.connect": zookeeper,
        "listeners": node.for_clients,
        "advertised.listeners": node.advertised,
        "listener.security.protocol.map": node.protocols,
        "inter.broker.listener.name": "PLAINTEXT",
    }


def plan_zookeeper_settings(host: str, port: int, data: Path) -> dict[str, str]:
    return {
        "dataDir": str(data),
        "clientPortAddress": host,
        "clientPort": str(port),
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,dump",
        # Sessions end at the next tick, and are as long as brokers ask for: 2 to 20 ticks by default.
        "tickTime": "500",
        "maxSessionTimeout": "60000",
    }


def properties_text(settings: Mapping[str, str]) -> str:
    """As java.util.Properties reads it: a backslash or a line end in a value must be escaped."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in escaped.items())
