"""What a flow is to mirror, given what its two clusters hold now.

    source_topics --TopicSelector--> the flow's topics --plan_topics--> create | extend | mirror

MirrorMaker 2 never deletes or shrinks on the target; neither does this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.topology.filters import TopicFilter
from sparkmirror.topology.partition import TopicPartition
from sparkmirror.topology.policy import DefaultReplicationPolicy, ReplicationPolicy

BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSelector:
    """Decides for one flow which topics of its source are mirrored."""

    topic_filter: TopicFilter
    policy: ReplicationPolicy
    target: str
    # MirrorMaker 2 mirrors heartbeats whatever `topics` says, so that each hop can be watched.
    heartbeats: bool = True

    @classmethod
    def of(cls, flow: FlowConfig, policy: ReplicationPolicy) -> TopicSelector:
        topic_filter = TopicFilter.of(flow.topics, flow.topics_exclude)
        return cls(topic_filter=topic_filter, policy=policy, target=flow.target.alias)

    def should_replicate(self, topic: str) -> bool:
        wanted = self.topic_filter.matches(topic) or (self.heartbeats and self.policy.is_heartbeats_topic(topic))
        return wanted and not self.policy.is_internal_topic(topic) and not self.is_cycle(topic)

    def is_cycle(self, topic: str) -> bool:
        """Whether any hop of the topic's way here began at the target."""
        source = self.policy.topic_source(topic)
        while source is not None:
            if source == self.target:
                return True
            upstream = self.policy.upstream_topic(topic)
            if upstream is None or upstream == topic:
                return False
            topic, source = upstream, self.policy.topic_source(upstream)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicToCreate:
    topic: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicToExtend:
    """`partitions` is the new total, as Kafka's CreatePartitions wants it."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MirroredPartition:
    """A source partition and the remote topic that takes it under the same partition number."""

    source: TopicPartition
    remote_topic: str

    @property
    def target(self) -> TopicPartition:
        return TopicPartition(self.remote_topic, self.source.partition)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPair:
    """A topic of the flow and its remote topic, with how many partitions each has now."""

    topic: str
    remote: str
    partitions: int
    present: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """`mirror` holds what can be copied now; what waits for a creation appears in the next plan."""

    create: tuple[TopicToCreate, ...]
    extend: tuple[TopicToExtend, ...]
    mirror: tuple[MirroredPartition, ...]
    pairs: tuple[TopicPair, ...]


def plan_topics(
    source_topics: Mapping[str, int],
    target_topics: Mapping[str, int],
    flow: FlowConfig,
    policy: ReplicationPolicy | None = None,
) -> TopicPlan:
    """Both mappings are topic -> partition count. Everything in the plan is sorted."""
    policy = policy or DefaultReplicationPolicy()
    selector = TopicSelector.of(flow, policy)
    create: list[TopicToCreate] = []
    extend: list[TopicToExtend] = []
    mirror: list[MirroredPartition] = []
    pairs: list[TopicPair] = []
    for topic in sorted(filter(selector.should_replicate, source_topics)):
        wanted = source_topics[topic]
        remote = policy.format_remote_topic(flow.source.alias, topic)
        present = target_topics.get(remote, 0)
        pairs.append(TopicPair(topic=topic, remote=remote, partitions=wanted, present=present))
        if present == 0 < wanted:
            factor = BROKER_DEFAULT if flow.replication_factor is None else flow.replication_factor
            create.append(TopicToCreate(topic=remote, partitions=wanted, replication_factor=factor))
        elif present < wanted:
            extend.append(TopicToExtend(topic=remote, partitions=wanted))
        mirror += (
            MirroredPartition(source=TopicPartition(topic, number), remote_topic=remote)
            for number in range(min(wanted, present))
        )
    return TopicPlan(create=tuple(create), extend=tuple(extend), mirror=tuple(mirror), pairs=tuple(pairs))
