"""Logs whose records have every kind of field."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.batches import Headers
from tests.support.kafka_client import create_topic
from tests.support.source_logs.write import Written, now_ms, write, write_batches

THREE_DAYS_MS = 3 * 24 * 3600 * 1000
NO_TIMESTAMP = -1
HEADERS: tuple[Headers, ...] = (
    (),
    (("trace", b"\0\1\2"),),
    (("twice", b"1"), ("twice", None), ("empty", b""), ("", b"no name")),
    (("größe", b"x" * 300),),
)


def make_odd_records(
    servers: str, topic: str, *, partitions: int = 2, records: int = 200, codec: str = "none", seed: int = 0
) -> Written:
    """Null and empty keys and values, repeated and null headers, timestamps three days old or none at all.

    No producer writes a record without a timestamp, so partition 0 ends with batches made by hand.
    """
    create_topic(servers, topic, partitions)
    written = write(servers, topic, _odd_records(records, partitions, seed), compression_type=codec)
    timestamps = ((NO_TIMESTAMP, NO_TIMESTAMP), (NO_TIMESTAMP, 0), (now_ms() - THREE_DAYS_MS, NO_TIMESTAMP, now_ms()))
    batches = [[(b"by hand", b"at %d" % at, at) for at in batch] for batch in timestamps]
    written.setdefault(0, []).extend(write_batches(servers, topic, batches, HEADERS[2])[0])
    return written


def make_append_time(servers: str, topic: str, *, records: int = 100, codec: str = "zstd") -> Written:
    """The broker stamps each batch: all records of a batch have one timestamp, whatever the producer said."""
    create_topic(servers, topic, config={"message.timestamp.type": "LogAppendTime"})
    old = now_ms() - THREE_DAYS_MS
    made = ({"value": b"v%d" % i, "timestamp": old + i, "partition": 0} for i in range(records))
    return write(servers, topic, made, compression_type=codec, batch_num_messages=10)


def _odd_records(count: int, partitions: int, seed: int) -> Iterator[Mapping[str, Any]]:
    dice = random.Random(seed)
    now = now_ms()
    for number in range(count):
        yield {
            "key": dice.choice((None, b"", b"key", dice.randbytes(8))),
            "value": dice.choice((None, b"", b"value", dice.randbytes(dice.choice((1, 100, 20_000))))),
            "headers": list(dice.choice(HEADERS)),
            "timestamp": now - dice.choice((0, THREE_DAYS_MS)) + number,
            "partition": number % partitions,
        }
