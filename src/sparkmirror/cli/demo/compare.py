"""Whether both sides hold the same: every record of every partition, in order, read by an independent consumer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from sparkmirror.cli.demo.load import QUIET
from sparkmirror.cli.demo.topics import DemoTopic

# offset, (type of timestamp, timestamp), key, value, headers
Record = tuple[int, tuple[int, int], bytes | None, bytes | None, list[tuple[str, bytes | None]]]
FIELDS = ("offset", "timestamp", "key", "value", "headers")

READ_AT_ONCE = 2000
SILENCE_S = 20.0
SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first one of a partition. After a lost or repeated record all others would differ too."""

    topic: str
    partition: int
    what: str


@dataclass(frozen=True, slots=True)
class Comparison:
    records: int
    topics: int
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not self.differences

    def lines(self) -> list[str]:
        if self.equal:
            return [f"{self.records:,} records in {self.topics} topics are equal on both sides, offsets too"]
        head = f"The sides differ in {len(self.differences)} partitions; the first difference of each:"
        return [head, *(f"  {d.topic}-{d.partition}: {d.what}" for d in self.differences)]


def first_difference(source: Iterable[Record], target: Iterable[Record]) -> tuple[int, str]:
    """How many records are equal from the beginning, and what is different then (empty: nothing)."""
    count = 0
    for here, there in zip_longest(source, target):
        if here != there:
            return count, describe(here, there)
        count += 1
    return count, ""


def describe(here: Record | None, there: Record | None) -> str:
    if here is None or there is None:
        found, side = (here, "target") if there is None else (there, "source")
        assert found is not None
        return f"the {side} ends before offset {found[0]:,}"
    name, a, b = next((n, a, b) for n, a, b in zip(FIELDS, here, there, strict=True) if a != b)
    return f"from offset {here[0]:,} on, first in {name}: source {_short(a)}, target {_short(b)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def compare(source: str, target: str, topics: Sequence[DemoTopic], note: Callable[[str], None]) -> Comparison:
    here, there = _Reader(source), _Reader(target)
    total = 0
    differences = []
    try:
        for topic in topics:
            for partition in range(topic.partitions):
                count, what = first_difference(here.read(topic.name, partition), there.read(topic.remote, partition))
                total += count
                note(f"{topic.name}, {partition + 1} of {topic.partitions} partitions, {total:,} records so far")
                if what:
                    differences.append(Difference(topic=topic.name, partition=partition, what=what))
    finally:
        here.close()
        there.close()
    return Comparison(total, len(topics), tuple(differences))


class _Reader:
    """One cluster's consumer. Reads piece by piece, so that a long demo needs no more memory than a short one."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "sparkmirror-demo-compare",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,  # at a partition's end a longer poll would hold up the next partition
                "isolation.level": "read_committed",
                **QUIET,
            }
        )

    def read(self, topic: str, partition: int) -> Iterator[Record]:
        """All records until the partition's end, or until nothing has come for a long time."""
        first, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=SILENCE_S)
        self._consumer.assign([TopicPartition(topic, partition, first)])
        next_offset = first
        heard = time.monotonic()
        while next_offset < end and time.monotonic() - heard < SILENCE_S:
            for message in self._consumer.consume(min(READ_AT_ONCE, end - next_offset), 0.5):
                if message.error() is None:
                    heard = time.monotonic()
                    next_offset = message.offset() + 1
                    yield _record(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    return

    def close(self) -> None:
        self._consumer.close()


def _record(message: Any) -> Record:
    return (message.offset(), message.timestamp(), message.key(), message.value(), message.headers() or [])
