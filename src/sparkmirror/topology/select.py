"""What a flow is to mirror, given what its two clusters hold now.

    source topics --TopicSelector--> the flow's topics --plan_topics--> create | extend | mirror | delete

MirrorMaker 2 never deletes or shrinks on the target. Neither does this, but for topics that it made itself, where
`sync.topic.deletes.enabled` asks for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.config.renames import Rename, Renames
from sparkmirror.topology.choose import choose_config_filter, choose_policy, choose_topic_filter
from sparkmirror.topology.filters import TopicFilter
from sparkmirror.topology.partition import TopicPartition
from sparkmirror.topology.policy import ReplicationPolicy, hops_back

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSelector:
    """Decides for one flow which topics of its source are mirrored, and what they are called on the target."""

    topic_filter: TopicFilter
    policy: ReplicationPolicy
    source: str
    target: str
    renames: Renames = field(default_factory=Renames)
    # Other flows may write into topics that do not have the source's alias in their names.
    shares_target: bool = False
    # MirrorMaker 2 mirrors heartbeats whatever `topics` says, so that each hop can be watched.
    heartbeats: bool = True

    @classmethod
    def of(cls, flow: FlowConfig) -> TopicSelector:
        """ConfigError where a class of the file can't be used."""
        return cls(
            topic_filter=choose_topic_filter(flow),
            policy=choose_policy(flow),
            source=flow.source.alias,
            target=flow.target.alias,
            renames=Renames.of(flow.naming.topics_map),
            shares_target=flow.shares_target and not flow.naming.is_mutual,
            heartbeats=flow.heartbeats.are_mirrored,
        )

    def should_replicate(self, topic: str) -> bool:
        heartbeats = self.heartbeats and self.policy.is_heartbeats_topic(topic)
        wanted = heartbeats or self.topic_filter.should_replicate_topic(topic)
        return wanted and not self.policy.is_internal_topic(topic) and not self.is_cycle(topic)

    def pick_named(self, topics: Iterable[str]) -> Iterator[str]:
        """Of a file's `topics`, those that are names: one that the user may not see is in no list of topics."""
        return (name for name in topics if _PLAIN_NAME.fullmatch(name) and self.should_replicate(name))

    def is_cycle(self, topic: str) -> bool:
        """Whether any hop of the topic's way here began at the target."""
        return any(source == self.target for source, _ in hops_back(self.policy, topic))

    def remote_name(self, topic: str) -> str:
        rename = self._find_rename(topic)
        renamed = rename.apply(topic) if rename else None
        return renamed or self.policy.format_remote_topic(self.source, topic)

    def is_shared(self, topic: str) -> bool:
        """Whether other topics, of this or another source, may be written into its remote topic."""
        rename = self._find_rename(topic)
        if rename is not None and rename.can_merge:
            return True
        return self.shares_target and (rename is not None or self.remote_name(topic) == topic)

    def _find_rename(self, topic: str) -> Rename | None:
        """Heartbeats tell the way of topics, so they do not go into a topic with others."""
        rename = self.renames.find(topic)
        merges = rename is not None and rename.can_merge
        return None if merges and self.policy.is_heartbeats_topic(topic) else rename


def refuse_unusable(flow: FlowConfig) -> None:
    """ConfigError where a class or a rename of the file can't be used, before anything is begun."""
    TopicSelector.of(flow)
    choose_config_filter(flow)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicToCreate:
    """A remote topic that is missing, and the topic that it shall be like."""

    topic: str
    source: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicToExtend:
    """`partitions` is the new total, as Kafka's CreatePartitions wants it."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MirroredPartition:
    """A source partition and the partition that takes it. `is_shared`: other partitions may write there, too."""

    source: TopicPartition
    target: TopicPartition
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPair:
    """A topic of the flow and its remote topic, with how many partitions each has now."""

    topic: str
    remote: str
    partitions: int
    present: int
    is_shared: bool = False

    def target_of(self, partition: int) -> int:
        """Under the same number; in a topic that several share, modulo its count, which therefore never grows."""
        return partition % self.present if self.is_shared and self.present else partition


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """`mirror` holds what can be copied now; what waits for a creation appears in the next plan."""

    create: tuple[TopicToCreate, ...]
    extend: tuple[TopicToExtend, ...]
    mirror: tuple[MirroredPartition, ...]
    pairs: tuple[TopicPair, ...]


def plan_topics(
    source_topics: Mapping[str, int], target_topics: Mapping[str, int], selector: TopicSelector
) -> TopicPlan:
    """Both mappings are topic -> partition count. Everything in the plan is sorted by source topic."""
    pairs = tuple(_pair_topics(source_topics, target_topics, selector))
    return TopicPlan(
        create=tuple(_plan_creations(pairs)),
        extend=tuple(
            TopicToExtend(topic=pair.remote, partitions=pair.partitions)
            for pair in pairs
            if 0 < pair.present < pair.partitions and not pair.is_shared
        ),
        mirror=tuple(mirrored for pair in pairs for mirrored in _mirror(pair)),
        pairs=pairs,
    )


def _pair_topics(
    source_topics: Mapping[str, int], target_topics: Mapping[str, int], selector: TopicSelector
) -> Iterator[TopicPair]:
    remotes = {topic: selector.remote_name(topic) for topic in source_topics if selector.should_replicate(topic)}
    uses = Counter(remotes.values())
    for topic, remote in sorted(remotes.items()):
        yield TopicPair(
            topic=topic,
            remote=remote,
            partitions=source_topics[topic],
            present=target_topics.get(remote, 0),
            is_shared=uses[remote] > 1 or selector.is_shared(topic),
        )


def _plan_creations(pairs: tuple[TopicPair, ...]) -> Iterator[TopicToCreate]:
    """A topic that several share is like the widest of them."""
    widest: dict[str, TopicPair] = {}
    for pair in pairs:
        if pair.present == 0 < pair.partitions:
            known = widest.setdefault(pair.remote, pair)
            if pair.partitions > known.partitions:
                widest[pair.remote] = pair
    for remote, pair in widest.items():
        yield TopicToCreate(topic=remote, source=pair.topic, partitions=pair.partitions)


def _mirror(pair: TopicPair) -> Iterator[MirroredPartition]:
    ready = pair.partitions if pair.is_shared and pair.present else min(pair.partitions, pair.present)
    for number in range(ready):
        yield MirroredPartition(
            source=TopicPartition(pair.topic, number),
            target=TopicPartition(pair.remote, pair.target_of(number)),
            is_shared=pair.is_shared,
        )
