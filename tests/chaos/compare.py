"""Both sides read by Kafka's own client (librdkafka) and compared: what is new since the last time, and a tail."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.judge import Findings, Row, compare_rows
from tests.chaos.side import QUICK, Place, Side, await_true
from tests.chaos.traffic import TOPICS, Topic

TAIL = 300  # offsets that are compared once more, since a log can be cut back
READ_S = 60.0


class Comparison:
    """Of the traffic's topics, whose offsets are equal. `await_copied` says up to where, `compare` how it is there."""

    def __init__(self, source: Side, target: Side, prefix: str = "A.", topics: Sequence[Topic] = TOPICS) -> None:
        self._source, self._target, self._prefix = source, target, prefix
        self._topics = {topic.name: topic for topic in topics}
        self._places = [(topic.name, partition) for topic in topics for partition in range(topic.partitions)]
        self._compared: dict[Place, int] = dict.fromkeys(self._places, 0)
        self._until = dict(self._compared)

    def note_ends(self) -> None:
        """From now on `await_copied` waits for what the source holds at this moment."""
        await_true(self._note_ends, "the source's ends")

    def await_traffic(self, offsets: int) -> None:
        """Until each partition has so many."""
        await_true(
            lambda: min(self._source.ends(self._places, committed=True).values()) >= offsets, "the traffic's records"
        )

    def _note_ends(self) -> bool:
        self._until = self._source.ends(self._places, committed=True)
        return True

    def limit_to_copied(self) -> None:
        """Of what was noted, only what the target holds."""
        behind = self.behind()
        self._until = {place: until - behind.get(place, 0) for place, until in self._until.items()}

    def behind(self) -> dict[Place, int]:
        """How many offsets of what was noted each partition lacks."""
        ends = self._target.ends((f"{self._prefix}{topic}", partition) for topic, partition in self._places)
        found = {(t, p): self._until[t, p] - ends[f"{self._prefix}{t}", p] for t, p in self._places}
        return {place: missing for place, missing in found.items() if missing > 0}

    def await_copied(self, deadline_s: float) -> float:
        """Until the target holds all of it; how long it took."""
        try:
            return await_true(lambda: not self.behind(), "the copy", deadline_s)
        except AssertionError:
            raise AssertionError(f"not copied within {deadline_s:g} s: {self._show_behind()}") from None

    def _show_behind(self) -> str:
        try:
            return ", ".join(f"{t}-{p} lacks {missing}" for (t, p), missing in self.behind().items())
        except KafkaException as error:
            return str(error)

    def compare(self, *, whole: bool = False) -> Findings:
        """Up to what `note_ends` noted: what was not compared yet and the tail, or all."""
        first = {place: 0 if whole else max(0, end - TAIL) for place, end in self._compared.items()}
        source = read_rows(self._source, first, self._until, isolation="read_committed")
        remote = {(f"{self._prefix}{t}", p): offset for (t, p), offset in first.items()}
        until = {(f"{self._prefix}{t}", p): offset for (t, p), offset in self._until.items()}
        target = read_rows(self._target, remote, until, isolation="read_uncommitted")
        total = Findings()
        for topic, partition in self._places:
            place = topic, partition
            found = compare_rows(
                source[place],
                target[f"{self._prefix}{topic}", partition],
                self._until[place],
                compacted=self._topics[topic].compacted,
            )
            total += Findings(first=f"{topic}-{partition}: {found.first}") + found if found.first else found
        self._compared = dict(self._until)
        return total


def read_rows(
    side: Side, first: Mapping[Place, int], until: Mapping[Place, int], *, isolation: str
) -> dict[Place, list[Row]]:
    """From `first` on to `until` at least, in the order of the log."""
    rows: dict[Place, list[Row]] = {place: [] for place in first}
    left = {place for place, offset in first.items() if offset < until[place]}
    consumer = Consumer(
        {
            "bootstrap.servers": side.servers,
            "group.id": "comparison",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            **QUICK,
        }
    )
    try:
        consumer.assign([TopicPartition(*place, first[place]) for place in left])
        deadline = time.monotonic() + READ_S
        while left:
            assert time.monotonic() < deadline, f"the {side.name} was not read within {READ_S:g} s: {sorted(left)}"
            for message in consumer.consume(5000, 0.1):
                _note(message, rows, left, until)
    finally:
        consumer.close()
    return rows


def _note(message: Any, rows: dict[Place, list[Row]], left: set[Place], until: Mapping[Place, int]) -> None:
    place, error = (message.topic(), message.partition()), message.error()
    if error is None:
        rows[place].append(Row(message.offset(), message.key(), message.value(), message.timestamp()[1]))
    elif error.code() == KafkaError._PARTITION_EOF:
        if message.offset() >= until[place]:
            left.discard(place)
    elif error.fatal() or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise KafkaException(error)
