"""Facts for whoever asks, with or without a running mirror: `mm2-status.<source>.internal` on the target.

    key    {"sparkmirror":"fact","source":"a","topic":"t","partition":0}      <- partition -1: the whole topic
    value  {"kind":"stopped","name":"gap","error":"source offsets 10..19 ...","since":"2026-01-31T10:00:00.000Z"}
    value  none                                                  <- it is over

The topic is Kafka Connect's status topic. A MirrorMaker 2 that reads it later discards keys that do not begin with
`status-connector-`, `status-task-` or `status-topic-`, with a line in its log (KafkaStatusBackingStore.read).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import UNREADABLE, InternalTopic, newest
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.storage import Storage

MARK = "fact"

Place = tuple[str, int]


def encode_key(source: str, place: Place) -> bytes:
    return _dump({"sparkmirror": MARK, "source": source, "topic": place[0], "partition": place[1]})


def encode_value(fact: Fact) -> bytes:
    return _dump({"kind": fact.kind, "name": fact.name, "error": fact.error, "since": fact.since})


def parse_record(source: str, key: bytes | None, value: bytes | None) -> tuple[Place, Fact | None] | None:
    """The place and its fact; None for other flows' and Connect's own records, and what can't be read."""
    try:
        where = json.loads(key or b"null")
        if where["sparkmirror"] != MARK or where["source"] != source:
            return None
        place = (str(where["topic"]), int(where["partition"]))
        if value is None:
            return place, None
        said = json.loads(value)
        fact = Fact(
            kind=str(said["kind"]),
            name=str(said.get("name", "")),
            error=str(said.get("error", "")),
            since=str(said.get("since", "")),
        )
    except UNREADABLE:
        return None
    return place, fact


class FactsTopic:
    """One flow's facts in the status topic."""

    def __init__(self, cluster: Cluster, storage: Storage, replication_factor: int = -1) -> None:
        self._source = storage.source
        self._topic = InternalTopic(
            cluster, storage.status, partitions=storage.status_partitions, replication_factor=replication_factor
        )

    def ensure(self) -> None:
        self._topic.ensure()

    def remake_if_lost(self) -> bool:
        return self._topic.remake_if_lost()

    def read(self) -> dict[Place, Fact]:
        """The facts that hold."""
        found: dict[Place, Fact] = {}
        for record in newest(self._topic.read()):
            parsed = parse_record(self._source, record.key, record.value)
            if parsed and parsed[1] is not None:
                found[parsed[0]] = parsed[1]
            elif parsed:
                found.pop(parsed[0], None)
        return found

    def write(self, facts: Mapping[Place, Fact | None]) -> None:
        """`None`: the fact is over."""
        values = {place: None if fact is None else encode_value(fact) for place, fact in facts.items()}
        self._topic.append_keyed({encode_key(self._source, place): value for place, value in values.items()})


def _dump(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
