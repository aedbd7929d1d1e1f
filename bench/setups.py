"""The properties that each mirror gets. Pure.

sparkmirror and MirrorMaker 2 by default read the same text; tuned ones have the lines of `TUNED_*` more, or of
`STEADY_TUNING`, the record way one line. Each
run has aliases of its own, so that no run finds another's internal topics, groups or remote topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# `A.consumer.*` reaches the source consumer, `B.producer.*` the worker's producer that writes the data.
# fetch.min.bytes stays 1: more would hold back a single record for fetch.max.wait.ms.
TUNED_CONSUMER = {
    "fetch.min.bytes": "1",
    "fetch.max.bytes": str(100 << 20),
    "max.partition.fetch.bytes": str(10 << 20),
    "max.poll.records": "20000",
    "receive.buffer.bytes": str(1 << 20),
}
TUNED_PRODUCER = {
    "batch.size": str(512 << 10),
    "linger.ms": "20",
    "compression.type": "lz4",
    "buffer.memory": str(128 << 20),
    "send.buffer.bytes": str(1 << 20),
}

# For steady traffic: fetches that gather for a while, and batches that wait for others.
STEADY_TUNING = (
    {"fetch.min.bytes": str(1 << 20), "fetch.max.wait.ms": "10", "max.poll.records": "20000"},
    {"linger.ms": "5", "batch.size": str(256 << 10)},
)

TUNED = ("mm2-tuned", "sparkmirror-tuned")  # the latter for steady traffic alone

# What MirrorMaker 2 does beside copying records unless it is switched off.
DEFAULT_WORK = (
    "emit.heartbeats.enabled",
    "emit.checkpoints.enabled",
    "emit.offset-syncs.enabled",
    "refresh.groups.enabled",
    "sync.topic.configs.enabled",
    "sync.topic.acls.enabled",
)

_REPLICATION_FACTORS = (
    "replication.factor",
    "offset-syncs.topic.replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "offset.storage.replication.factor",
    "config.storage.replication.factor",
    "status.storage.replication.factor",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One run of one mirror: what it is called, what it mirrors. `name` is one of `MIRRORS`.

    `security`: keys of both clusters.
    """

    name: str
    run: str
    topics: tuple[str, ...]
    source_bootstrap: str
    target_bootstrap: str
    tasks: int
    is_steady: bool = False  # the traffic that it is tuned for
    security: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("sparkmirror")

    @property
    def source_alias(self) -> str:
        return f"{self.name}-{self.run}-a"

    @property
    def target_alias(self) -> str:
        return f"{self.name}-{self.run}-b"

    def remote(self, topic: str) -> str:
        """The topic's name on the target (DefaultReplicationPolicy)."""
        return f"{self.source_alias}.{topic}"

    @property
    def properties(self) -> str:
        a, b = self.source_alias, self.target_alias
        lines = [
            f"clusters = {a}, {b}",
            f"{a}.bootstrap.servers = {self.source_bootstrap}",
            f"{b}.bootstrap.servers = {self.target_bootstrap}",
            f"{a}->{b}.enabled = true",
            f"{a}->{b}.topics = {', '.join(self.topics)}",
            f"tasks.max = {self.tasks}",
            *(f"{key} = 1" for key in _REPLICATION_FACTORS),
            *(f"{alias}.{key} = {value}" for alias in (a, b) for key, value in self.security.items()),
        ]
        if self.name in TUNED:
            consumer, producer = STEADY_TUNING if self.is_steady else (TUNED_CONSUMER, TUNED_PRODUCER)
            lines += [f"{a}.consumer.{key} = {value}" for key, value in consumer.items()]
            lines += [f"{b}.producer.{key} = {value}" for key, value in producer.items()]
        if self.name == "sparkmirror-records":
            lines.append("pipeline.path = records")
        return "\n".join(lines) + "\n"


def example_properties(name: str, scenarios: Sequence[str], tasks: int) -> str:
    """As a report shows them: addresses that do not change from run to run."""
    topics = tuple(topic_name(name, scenario) for scenario in scenarios)
    return Setup(
        name=name,
        run="main",
        topics=topics,
        source_bootstrap="source:9092",
        target_bootstrap="target:9092",
        tasks=tasks,
    ).properties


def topic_name(mirror: str, scenario: str) -> str:
    """Each mirror has topics of its own."""
    return f"bench-{scenario}-{mirror}"
