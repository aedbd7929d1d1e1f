"""Logs whose batches are small, big, or compressed in every way."""

from __future__ import annotations

import random

from tests.support.kafka_client import create_topic
from tests.support.source_logs.write import CODECS, Written, enqueue, finish, new_producer, now_ms, write


def make_small_batches(
    servers: str, topic: str, *, partitions: int = 4, records: int = 1000, most: int = 10, value_bytes: int = 100
) -> Written:
    """Batches of 1 to `most` records: a producer for each size, all of them writing at once."""
    create_topic(servers, topic, partitions)
    dice = random.Random(0)
    producers = [new_producer(servers, batch_num_messages=size, linger_ms=0) for size in range(1, most + 1)]
    written: Written = {}
    for number in range(records):
        record = {"value": dice.randbytes(value_bytes), "timestamp": now_ms(), "partition": number % partitions}
        enqueue(dice.choice(producers), topic, record, written)
    finish(producers, written)
    return written


def make_big_batches(
    servers: str, topic: str, *, batches: int = 2, batch_bytes: int = 4 << 20, records: int = 64, codec: str = "none"
) -> Written:
    """Each batch has about `batch_bytes`; the contents don't compress. The topic allows that size."""
    limit = batch_bytes + (1 << 20)
    create_topic(servers, topic, config={"max.message.bytes": str(limit)})
    dice = random.Random(0)
    size = batch_bytes // records
    made = [{"key": b"k%d" % i, "value": dice.randbytes(size), "partition": 0} for i in range(batches * records)]
    settings = {"batch_num_messages": records, "batch_size": limit, "message_max_bytes": limit, "linger_ms": 1000}
    return write(servers, topic, made, compression_type=codec, **settings)


def make_every_codec(servers: str, topic: str, *, records: int = 50) -> Written:
    """One log with batches of all codecs, so many records of each."""
    create_topic(servers, topic)
    written: Written = {0: []}
    for codec in CODECS:
        text = codec.encode() * 20
        made = [{"key": b"k%d" % i, "value": text + b"%d" % i, "partition": 0} for i in range(records)]
        written[0] += write(servers, topic, made, compression_type=codec)[0]
    return written
