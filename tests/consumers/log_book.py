"""What consumers see in the logs of a cluster, and how far a group that stands at an offset has read of each origin.

A record's value says what it is: `topic|incarnation|partition|number`, numbered from 0 on by its producer. The order
of a partition is kept wherever it is copied to. So whoever stands behind number 7 has read all before 7, or came when
they were gone.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterable, Mapping
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from tests.support.kafka_client import DEADLINE_S

Place = tuple[str, int]
QUICK = {"fetch.wait.max.ms": 10, "reconnect.backoff.max.ms": 200, "topic.metadata.refresh.interval.ms": 2000}


class Origin(NamedTuple):
    """A partition of a topic, and the how many-th topic of that name."""

    topic: str
    incarnation: int
    partition: int


class Record(NamedTuple):
    origin: Origin
    number: int

    def encode(self) -> bytes:
        return "|".join(map(str, (*self.origin, self.number))).encode()


def parse_record(value: bytes | None) -> Record | None:
    """None: somebody else's."""
    parts = (value or b"").decode().split("|")
    if len(parts) != 4:
        return None
    return Record(Origin(parts[0], int(parts[1]), int(parts[2])), int(parts[3]))


class ReadUntil(Container[Record]):
    """All records of each origin before a number."""

    def __init__(self, until: Mapping[Origin, int] | None = None) -> None:
        self.until = dict(until or {})

    def __contains__(self, record: object) -> bool:
        return isinstance(record, Record) and record.number < self.until.get(record.origin, 0)

    def reach_all(self, other: ReadUntil) -> None:
        for origin, number in other.until.items():
            self.until[origin] = max(self.until.get(origin, 0), number)

    def reach(self, record: Record) -> None:
        self.until[record.origin] = max(self.until.get(record.origin, 0), record.number + 1)


class Seen(NamedTuple):
    """A log: where it begins and ends, and its records."""

    start: int
    end: int
    records: list[tuple[int, Record]]


class LogBook:
    """One cluster's logs as they were when it was asked last."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self.logs: dict[Place, Seen] = {}
        self._passed: dict[Place, dict[int, Record]] = {}  # all that ever stood there

    def read(self, topics: Collection[str]) -> None:
        consumer = self._open()
        try:
            known = consumer.list_topics(timeout=DEADLINE_S).topics
            places = [(t, p) for t in topics if t in known and not known[t].error for p in known[t].partitions]
            bounds = {place: _ask_bounds(consumer, place) for place in places}
            found: dict[Place, list[tuple[int, Record]]] = {place: [] for place in places}
            for place, offset, record in _read(consumer, bounds):
                found[place].append((offset, record))
        finally:
            consumer.close()
        self.logs = {place: Seen(*bounds[place], found[place]) for place in places}
        for place, records in found.items():
            self._passed.setdefault(place, {}).update(records)

    def forget(self, topic: str) -> None:
        """It was deleted."""
        self._passed = {place: records for place, records in self._passed.items() if place[0] != topic}

    def read_before(self, offsets: Mapping[Place, int]) -> ReadUntil:
        """What a group has read that has committed these."""
        found = ReadUntil()
        for place, end in offsets.items():
            for offset, record in self._passed.get(place, {}).items():
                if offset < end:
                    found.reach(record)
        return found

    def _open(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "log-book",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                **QUICK,
            }
        )


def _ask_bounds(consumer: Consumer, place: Place) -> tuple[int, int]:
    """Again while a broker that was started anew is not the leader yet."""
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            start, end = consumer.get_watermark_offsets(TopicPartition(*place), timeout=20)
            return start, end
        except KafkaException:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _read(consumer: Consumer, bounds: Mapping[Place, tuple[int, int]]) -> Iterable[tuple[Place, int, Record]]:
    left = {place for place, (start, end) in bounds.items() if end > start}
    consumer.assign([TopicPartition(*place, bounds[place][0]) for place in left])
    until = time.monotonic() + DEADLINE_S
    while left:
        assert time.monotonic() < until, f"not read within {DEADLINE_S} s: {left}"
        for message in consumer.consume(10_000, timeout=0.1):
            place, error = (message.topic(), message.partition()), message.error()
            if error:
                assert error.code() == KafkaError._PARTITION_EOF, error
                left.discard(place)
            elif record := parse_record(message.value()):
                yield place, message.offset(), record


def _ask_places(consumer: Consumer, places: Collection[Place]) -> list[TopicPartition]:
    """Where the group stands; asked again while the coordinator reads its groups from its log."""
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            found = consumer.committed([TopicPartition(*place) for place in places], timeout=5)
            return [
                TopicPartition(p.topic, p.partition, p.offset if p.offset >= 0 else OFFSET_BEGINNING) for p in found
            ]
        except KafkaException:
            if time.monotonic() > until:
                raise


class Application:
    """A group's consumers on one cluster: they read on from where the group stands, and commit what they have read."""

    def __init__(self, servers: str, group: str) -> None:
        self._config = {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            **QUICK,
        }

    def read(self, places: Collection[Place], most: int) -> tuple[list[Record], dict[Place, int]]:
        """Up to so many records, in all; less where the logs end before. And what was committed then."""
        consumer = Consumer(self._config)
        found: list[Record] = []
        ends: dict[Place, int] = {}
        left, until = set(places), time.monotonic() + DEADLINE_S
        try:
            consumer.assign(_ask_places(consumer, places))
            while left and len(found) < most:
                assert time.monotonic() < until, f"{self._config['group.id']}: nothing comes of {left}"
                for message in consumer.consume(min(most - len(found), 10_000), timeout=0.1):
                    place, error = (message.topic(), message.partition()), message.error()
                    if not error:
                        found += filter(None, [parse_record(message.value())])
                        ends[place] = message.offset() + 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        left.discard(place)
            if ends:
                consumer.commit(offsets=[TopicPartition(*k, end) for k, end in ends.items()], asynchronous=False)
        finally:
            consumer.close()
        return found, ends
