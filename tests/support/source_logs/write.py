"""Writes records with librdkafka and notes where the broker put each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message, Producer

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import append_batch
from tests.support.batches import Fields, Headers, encode_batch
from tests.support.java_reader import LogRecord
from tests.support.kafka_client import DEADLINE_S

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # in the order of their numbers

# What a consumer has to see, by partition and in the order of offsets.
Written = dict[int, list[LogRecord]]


def now_ms() -> int:
    return int(time.time() * 1000)


def new_producer(servers: str, **config: Any) -> Producer:
    settings = {"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 500_000}
    return Producer(settings | {name.replace("_", "."): value for name, value in config.items()})


def write(servers: str, topic: str, records: Iterable[Mapping[str, Any]], **config: Any) -> Written:
    """Each record is a mapping for `Producer.produce` that names its partition."""
    written: Written = {}
    producer = new_producer(servers, **config)
    for record in records:
        enqueue(producer, topic, record, written)
    finish([producer], written)
    return written


def enqueue(producer: Producer, topic: str, record: Mapping[str, Any], written: Written) -> None:
    while True:
        try:
            producer.produce(topic, on_delivery=_note(record, written), **record)
            break
        except BufferError:
            producer.poll(0.1)
    producer.poll(0)


def finish(producers: Sequence[Producer], written: Written) -> None:
    for producer in producers:
        assert producer.flush(DEADLINE_S) == 0
    for records in written.values():
        records.sort(key=lambda record: record.offset)


def write_batches(servers: str, topic: str, batches: Iterable[Sequence[Fields]], headers: Headers = ()) -> Written:
    """Batches exactly as given, on partition 0."""
    written: list[LogRecord] = []
    for batch in batches:
        (first,) = append_raw(servers, topic, [bytes(encode_batch(batch, headers=headers))])
        written += [
            LogRecord(first + number, timestamp, "CreateTime", key, value, headers)
            for number, (key, value, timestamp) in enumerate(batch)
        ]
    return {0: written}


def append_raw(servers: str, topic: str, batches: Iterable[bytes]) -> list[int]:
    """Appends batches to partition 0, one by one; the first offset of each."""
    with Cluster(ClusterAddress(alias="raw", bootstrap=tuple(servers.split(",")))) as cluster:
        info = cluster.fetch_metadata([topic]).topics[topic]
        return [append_batch(cluster, info, 0, batch) for batch in batches]


def _note(record: Mapping[str, Any], written: Written) -> Callable[[KafkaError | None, Message], None]:
    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        kind, timestamp = message.timestamp()
        name = "LogAppendTime" if kind == TIMESTAMP_LOG_APPEND_TIME else "CreateTime"
        headers = tuple(record.get("headers", ()))
        seen = LogRecord(message.offset(), timestamp, name, record.get("key"), record.get("value"), headers)
        written.setdefault(message.partition(), []).append(seen)

    return note
