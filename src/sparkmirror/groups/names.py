"""What topics of a flow's source are called on its target. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkmirror.topology.policy import ReplicationPolicy
from sparkmirror.topology.select import TopicPair

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Names:
    """`remote`: of topics that are mirrored. `origin`: of topics that the source has from the target.

    `shares`: of topics that are merged with others, how many partitions the target has.
    """

    remote: Mapping[str, str]
    origin: Mapping[str, str]
    shares: Mapping[str, int]

    @classmethod
    def of(
        cls, pairs: Iterable[TopicPair], source_topics: Iterable[str], policy: ReplicationPolicy, target_alias: str
    ) -> Names:
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
        )

    def target_place(self, place: Place) -> Place | None:
        """None: nothing of it is on the target."""
        topic, partition = place
        if topic in self.origin:
            return self.origin[topic], partition
        if topic not in self.remote:
            return None
        return self.remote[topic], partition % self.shares.get(topic, partition + 1)
