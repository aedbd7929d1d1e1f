"""What the mirror has done to remote topics: which it made, what it wrote there and what was changed by hand since.

    key                        value
    {"made":"a.orders"}        {"topic_id":"5d…","source":"orders","source_cluster":"Mk…","source_id":"e1…"}
    {"configs":"a.orders"}     {"topic_id":"5d…","source_id":"e1…",
                                "written":{"segment.bytes":["1000000"]},"by_hand":{"retention.ms":"-1"}}
    {"holds":"a.orders"}       {"topic_id":"5d…","source":"orders"}
    {"origin":["x",0],…}       see claims: x shares its remote topic with others
    {"rights":"a.orders"}      {"given":[["User:x","*",3,3]],"taken_away":[["User:y","*",3,3]]}

Records of the claim topic. What has a topic's id is about that one: one that was made anew is another's. Rights are
principal, host, operation and permission, in Kafka's numbers; they stay with a name, whatever becomes of the topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkmirror.topology.acls import Grant, KnownRights
from sparkmirror.topology.known_configs import NOTHING_KNOWN, KnownConfigs, Value


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
class HeldTopic:
    """`source`: the one source topic that the mirror has written into it; empty: several, at once or one by one.

    Said before the first record, unless `MadeTopic` says the same.
    """

    topic_id: str
    source: str = ""

    def to_value(self) -> dict[str, object]:
        return {"topic_id": self.topic_id, "source": self.source}


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    topic_id: str
    known: KnownConfigs

    def to_value(self) -> dict[str, object]:
        known = self.known
        written = {name: list(values) for name, values in sorted(known.written.items())}
        by_hand = dict(sorted(known.by_hand.items()))
        return {"topic_id": self.topic_id, "source_id": known.source_id, "written": written, "by_hand": by_hand}


@dataclass(slots=True)
class TopicMemory:
    """By remote topic. One thread at a time notes, others may read. `merged`: source topics that ever shared theirs."""

    made: dict[str, MadeTopic] = field(default_factory=dict)
    held: dict[str, HeldTopic] = field(default_factory=dict)
    configs: dict[str, TopicConfigs] = field(default_factory=dict)
    rights: dict[str, KnownRights] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)

    def note(self, key: dict[str, Any], value: dict[str, Any]) -> None:
        """Take in a record; what is not about topics is passed over."""
        topic_id = str(value.get("topic_id", ""))
        if "made" in key:
            source, cluster, source_id = (
                str(value.get(name, "")) for name in ("source", "source_cluster", "source_id")
            )
            self.made[str(key["made"])] = MadeTopic(topic_id, source, cluster, source_id)
        elif "holds" in key:
            self.held[str(key["holds"])] = HeldTopic(topic_id, str(value.get("source", "")))
        elif "configs" in key:
            self.configs[str(key["configs"])] = TopicConfigs(topic_id, _parse_configs(value))
        elif "rights" in key:
            self.rights[str(key["rights"])] = _parse_rights(value)
        elif isinstance(origin := key.get("origin"), list) and origin:
            self.merged.add(str(origin[0]))

    def is_made(self, topic: str, topic_id: str) -> bool:
        made = self.made.get(topic)
        return made is not None and made.topic_id == topic_id

    def holds_others(self, topic: str, topic_id: str, source: str) -> bool:
        """Whether the mirror wrote other source topics than this one into it, under a file of another time."""
        made, held = self.made.get(topic), self.held.get(topic)
        if held is not None and held.topic_id == topic_id and held.source != source:
            return True
        return made is not None and made.topic_id == topic_id and made.source not in ("", source)

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

    def configs_of(self, topic: str, topic_id: str) -> KnownConfigs:
        found = self.configs.get(topic)
        return found.known if found is not None and found.topic_id == topic_id else NOTHING_KNOWN

    def rights_of(self, topic: str) -> KnownRights:
        return self.rights.get(topic, KnownRights())


def _parse_configs(value: Mapping[str, Any]) -> KnownConfigs:
    written, by_hand = value.get("written"), value.get("by_hand")
    return KnownConfigs(
        source_id=str(value.get("source_id", "")),
        written={
            str(name): tuple(map(_parse_value, values))
            for name, values in (written.items() if isinstance(written, dict) else ())
            if isinstance(values, list)
        },
        by_hand={
            str(name): _parse_value(each) for name, each in (by_hand.items() if isinstance(by_hand, dict) else ())
        },
    )


def _parse_value(value: object) -> Value:
    return None if value is None else str(value)


def rights_value(known: KnownRights) -> dict[str, object]:
    return {"given": sorted(known.given), "taken_away": sorted(known.taken_away)}


def _parse_rights(value: Mapping[str, Any]) -> KnownRights:
    return KnownRights(*(frozenset(_parse_grants(value.get(name))) for name in ("given", "taken_away")))


def _parse_grants(value: object) -> Iterator[Grant]:
    for each in value if isinstance(value, list) else ():
        match each:
            case [str(principal), str(host), int(operation), int(permission)]:
                yield Grant(principal, host, operation, permission)
