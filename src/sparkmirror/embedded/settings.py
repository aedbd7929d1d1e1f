"""What one KRaft node is told, and the folder it finds: pure text, but for `format_storage`."""

from __future__ import annotations

import base64
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_VOTERS = 3

# Overrides for tests that kill brokers. The controller refuses a killed broker's return, and leaves its
# partitions without a leader, until the old session is over: 9 s by default, which benchmarks should keep.
QUICK_FAILOVER: Mapping[str, str] = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


@dataclass(frozen=True)
class Node:
    """One broker's place in its cluster. Only voters have a controller port."""

    id: int
    host: str
    port: int
    controller_port: int | None
    data: Path


def voter_count(brokers: int) -> int:
    """With three voters any one node may die. Two voters would be worse than one: each would be needed."""
    return MAX_VOTERS if brokers >= MAX_VOTERS else 1


def plan_settings(node: Node, nodes: Sequence[Node], overrides: Mapping[str, str]) -> dict[str, str]:
    replicas = str(min(len(nodes), 3))
    in_sync = "2" if len(nodes) >= 3 else "1"
    return {
        **_addresses(node, nodes),
        "log.dirs": str(node.data),
        "auto.create.topics.enable": "false",
        "num.partitions": "1",
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        # 50 partitions each by default: seconds of work at the first commit or transaction of every test
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": "16777216",  # 128 MB by default, a quarter of our heap
        **overrides,
    }


def _addresses(node: Node, nodes: Sequence[Node]) -> dict[str, str]:
    voters = [f"{n.id}@{n.host}:{n.controller_port}" for n in nodes if n.controller_port is not None]
    listeners = [f"PLAINTEXT://{node.host}:{node.port}"]
    if node.controller_port is not None:
        listeners.append(f"CONTROLLER://{node.host}:{node.controller_port}")
    return {
        "process.roles": "broker" if node.controller_port is None else "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(listeners),
        "advertised.listeners": f"PLAINTEXT://{node.host}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def properties_text(settings: Mapping[str, str]) -> str:
    """As java.util.Properties reads it: a backslash or a line end in a value must be escaped."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in escaped.items())


def format_storage(node: Node, cluster_id: str, bootstrap_checkpoint: Path) -> None:
    """What `kafka-storage.sh format` writes, without a JVM. Leaves a formatted folder as it is.

    `bootstrap.checkpoint` holds the feature levels (group.version, transaction.version, ...) and is the same
    for every node of a Kafka version, so a real StorageTool made it once. Without it a 4.x node would start
    with all features but metadata.version at level 0: no transactions of version 2, no new group protocol.
    """
    node.data.mkdir(parents=True, exist_ok=True)
    meta = node.data / "meta.properties"
    if meta.exists():
        return
    shutil.copyfile(bootstrap_checkpoint, node.data / "bootstrap.checkpoint")
    content = {"version": "1", "cluster.id": cluster_id, "node.id": str(node.id), "directory.id": new_id()}
    meta.write_text(properties_text(content))


def formatted_cluster_id(data: Path) -> str | None:
    """The cluster id of a folder that an earlier run formatted."""
    meta = data / "meta.properties"
    if not meta.exists():
        return None
    pairs = (line.partition("=") for line in meta.read_text().splitlines())
    return next((value for key, _, value in pairs if key == "cluster.id"), None)


def new_id() -> str:
    """Kafka's form of a UUID: 22 characters of URL-safe base64, never beginning like an option with '-'."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
