"""An independent client (librdkafka) to load topics and to read them back record by record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """All that a consumer sees of a record."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: tuple[int, int]


def create_topic(
    servers: str, topic: str, partitions: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    new = NewTopic(topic, num_partitions=partitions, replication_factor=replicas, config=dict(config or {}))
    admin.create_topics([new])[topic].result(timeout=DEADLINE_S)
    await_condition(lambda: len(_partitions(admin, topic)) == partitions, f"{topic} to appear")


def create_topic_on(servers: str, topic: str, partitions: int, brokers: list[int]) -> None:
    """A topic with all its replicas on the given brokers, the first of them leading."""
    admin = AdminClient({"bootstrap.servers": servers})
    new = NewTopic(topic, num_partitions=partitions, replica_assignment=[brokers] * partitions)
    admin.create_topics([new])[topic].result(timeout=DEADLINE_S)
    await_condition(lambda: len(_partitions(admin, topic)) == partitions, f"{topic} to appear")


def add_partitions(servers: str, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions(topic, total)])[topic].result(timeout=DEADLINE_S)
    await_condition(lambda: len(_partitions(admin, topic)) == total, f"{topic} to grow")


def delete_topic(servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(timeout=DEADLINE_S)


def topics(servers: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": servers}).list_topics(timeout=DEADLINE_S).topics)


def produce(servers: str, topic: str, records: Iterable[Mapping[str, Any]], **config: Any) -> None:
    """Each record is a mapping for `Producer.produce` (key, value, partition, headers, timestamp)."""
    failures: list[KafkaError] = []
    settings = {"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 500_000}
    producer = Producer(settings | {k.replace("_", "."): v for k, v in config.items()})

    def note(error: KafkaError | None, _message: object) -> None:
        if error:
            failures.append(error)

    for record in records:
        while True:
            try:
                producer.produce(topic, on_delivery=note, **record)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0
    assert not failures, failures[0]


def end_offsets(servers: str, topic: str) -> dict[int, int]:
    return {p: end for p, (_, end) in watermarks(servers, topic).items()}


def watermarks(servers: str, topic: str) -> dict[int, tuple[int, int]]:
    """First and end offset of each partition; asked again while leaders move."""
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            return _watermarks(servers, topic)
        except KafkaException:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _watermarks(servers: str, topic: str) -> dict[int, tuple[int, int]]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "watermarks"})
    try:
        found = consumer.list_topics(topic, timeout=DEADLINE_S).topics[topic].partitions
        return {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10) for p in sorted(found)}
    finally:
        consumer.close()


def total(servers: str, topic: str) -> int:
    return sum(end_offsets(servers, topic).values())


def read_all(servers: str, topic: str, *, deadline_s: float = DEADLINE_S) -> dict[int, list[Record]]:
    """Every record up to the ends as they are now, by partition, in the order of the log."""
    ends = watermarks(servers, topic)
    out: dict[int, list[Record]] = {p: [] for p in ends}
    left = {p for p, (start, end) in ends.items() if end > start}
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "read-all",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "error",
            "fetch.message.max.bytes": 16 << 20,
        }
    )
    consumer.assign([TopicPartition(topic, p, ends[p][0]) for p in left])
    until = time.monotonic() + deadline_s
    try:
        while left:
            assert time.monotonic() < until, f"{topic}: not read within {deadline_s} s, left {sorted(left)}"
            for message in consumer.consume(10_000, timeout=0.2):
                _note(message, out, left)
    finally:
        consumer.close()
    return out


def _note(message: Any, out: dict[int, list[Record]], left: set[int]) -> None:
    error = message.error()
    if error and error.code() == KafkaError._PARTITION_EOF:
        left.discard(message.partition())
        return
    assert not error, error
    headers = tuple((k, v) for k, v in (message.headers() or ()))
    record = Record(
        message.partition(), message.offset(), message.key(), message.value(), headers, tuple(message.timestamp())
    )
    out[message.partition()].append(record)


def assert_same(source: dict[int, list[Record]], target: dict[int, list[Record]]) -> None:
    """Same records in the same order at the same offsets; the first difference is shown."""
    assert sorted(source) == sorted(target)
    for partition, expected in source.items():
        actual = target[partition]
        for left, right in zip(expected, actual, strict=False):
            assert left == right, f"partition {partition}: {_short(left)} became {_short(right)}"
        assert len(actual) == len(expected), f"partition {partition}: {len(expected)} records became {len(actual)}"


def _short(record: Record) -> str:
    return f"offset {record.offset} key {record.key!r:.40} value {record.value!r:.60} at {record.timestamp}"


def await_condition(condition: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> float:
    """Ask until it holds; how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < deadline_s, f"waited {deadline_s:g} s for {what}"
        time.sleep(0.05)
    return time.monotonic() - began


def _partitions(admin: AdminClient, topic: str) -> Mapping[int, object]:
    known = admin.list_topics(timeout=DEADLINE_S).topics
    return known[topic].partitions if topic in known else {}
