"""Logs that do not begin at offset 0."""

from __future__ import annotations

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.filler import encode_filler
from tests.support.kafka_client import DEADLINE_S, create_topic
from tests.support.source_logs.write import Written, append_raw, now_ms, write

FILLER_RECORDS = 1_000_000


def make_late_start(servers: str, topic: str, *, records: int = 1000, first: int = 400) -> Written:
    """What is left of `records` after those below `first` were removed, mostly in the middle of a batch."""
    create_topic(servers, topic)
    made = ({"key": b"k%d" % i, "value": b"v%d" % i, "partition": 0} for i in range(records))
    written = write(servers, topic, made, linger_ms=50)
    remove_records(servers, topic, first)
    return {0: written[0][first:]}


def make_far_start(servers: str, topic: str, *, first: int = 50_000_000, records: int = 100) -> Written:
    """`records` from offset `first` on, after so many empty ones that were removed."""
    create_topic(servers, topic)
    whole, rest = divmod(first, FILLER_RECORDS)
    batches = [encode_filler(FILLER_RECORDS, now_ms())] * whole if whole else []
    append_raw(servers, topic, [*batches, *([encode_filler(rest, now_ms())] if rest else [])])
    remove_records(servers, topic, first)
    return write(servers, topic, ({"value": b"v%d" % i, "partition": 0} for i in range(records)))


def remove_records(servers: str, topic: str, first: int, partition: int = 0) -> None:
    """The log begins at `first` afterwards."""
    admin = AdminClient({"bootstrap.servers": servers})
    for removed in admin.delete_records([TopicPartition(topic, partition, first)]).values():
        assert removed.result(timeout=DEADLINE_S).low_watermark == first
