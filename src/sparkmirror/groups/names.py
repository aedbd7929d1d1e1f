"""What topics of a flow's source are called on its target. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkmirror.topology.policy import ReplicationPolicy
from sparkmirror.topology.select import TopicPair

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Names:
    """`remote`: of topics that are mirrored. `origin`: of topics that the source has from the target.

    `shares`: of topics that are merged with others, how many partitions the target has. `joined`: of these, topics
    that flows from other clusters may be merged into as well.
    """

    remote: Mapping[str, str]
    origin: Mapping[str, str]
    shares: Mapping[str, int]
    joined: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        pairs: Iterable[TopicPair],
        source_topics: Iterable[str],
        policy: ReplicationPolicy,
        target_alias: str,
        *,
        shares_target: bool,
    ) -> Names:
        """`shares_target`: other flows may write into the same topics."""
        pairs = [pair for pair in pairs if pair.present]
        from_target = {
            topic: policy.upstream_topic(topic)
            for topic in source_topics
            if policy.topic_source(topic) == target_alias and not policy.is_internal_topic(topic)
        }
        return cls(
            {pair.topic: pair.remote for pair in pairs},
            {topic: origin for topic, origin in from_target.items() if origin and origin != topic},
            {pair.topic: pair.present for pair in pairs if pair.is_shared},
            [pair.topic for pair in pairs if pair.is_shared and shares_target],
        )

    def target_place(self, place: Place) -> Place | None:
        """None: nothing of it is on the target."""
        topic, partition = place
        if topic in self.origin:
            return self.origin[topic], partition
        if topic not in self.remote:
            return None
        return self.remote[topic], partition % self.shares.get(topic, partition + 1)
