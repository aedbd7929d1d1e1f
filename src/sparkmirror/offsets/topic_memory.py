"""What the mirror has done to remote topics: which it made, and which configurations it set.

    key                        value
    {"made":"a.orders"}        {"topic_id":"5d…","source":"orders","source_cluster":"Mk…","source_id":"e1…"}
    {"configs":"a.orders"}     {"topic_id":"5d…","names":["retention.ms"]}

Records of the claim topic. All of it is about the topic of that id: one that was made anew is another's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeTopic:
    """`source`: the topic that it mirrors, of the cluster with the id `source_cluster`; empty if that is not said.

    `source_id`: the id with which that topic was last seen. When it is gone it may be another than the one copied.
    """

    topic_id: str
    source: str = ""
    source_cluster: str = ""
    source_id: str = ""

    def to_value(self) -> dict[str, object]:
        return {
            "topic_id": self.topic_id,
            "source": self.source,
            "source_cluster": self.source_cluster,
            "source_id": self.source_id,
        }


@dataclass(frozen=True, slots=True)
class SetConfigs:
    topic_id: str
    names: frozenset[str] = frozenset()

    def to_value(self) -> dict[str, object]:
        return {"topic_id": self.topic_id, "names": sorted(self.names)}


@dataclass(slots=True)
class TopicMemory:
    """By remote topic. One thread at a time notes, others may read."""

    made: dict[str, MadeTopic] = field(default_factory=dict)
    configs: dict[str, SetConfigs] = field(default_factory=dict)

    def note(self, key: dict[str, Any], value: dict[str, Any]) -> None:
        """Take in a record; what is not about topics is passed over."""
        topic_id = str(value.get("topic_id", ""))
        if "made" in key:
            source, cluster, source_id = (
                str(value.get(name, "")) for name in ("source", "source_cluster", "source_id")
            )
            self.made[str(key["made"])] = MadeTopic(topic_id, source, cluster, source_id)
        elif "configs" in key:
            names = value.get("names")
            known = frozenset(map(str, names)) if isinstance(names, list) else frozenset()
            self.configs[str(key["configs"])] = SetConfigs(topic_id, known)

    def is_made(self, topic: str, topic_id: str) -> bool:
        made = self.made.get(topic)
        return made is not None and made.topic_id == topic_id

    def made_from(self, source_cluster: str, ids: Mapping[str, str]) -> dict[str, MadeTopic]:
        """Remote topics that were made from this cluster and still have the id in `ids`.

        None where brokers give no ids: nothing tells these from topics that were made anew.
        """
        return {
            remote: made
            for remote, made in list(self.made.items())
            if source_cluster and made.source_cluster == source_cluster
            if made.topic_id and made.topic_id == ids.get(remote)
        }

    def names_set(self, topic: str, topic_id: str) -> Collection[str]:
        known = self.configs.get(topic)
        return known.names if known is not None and known.topic_id == topic_id else frozenset()
