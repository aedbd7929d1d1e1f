"""The judge is judged: what Kafka's own consumer reads is what was written, and no difference escapes it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import Producer

from sparkmirror.batch.header import BatchHeader
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import read_log
from tests.conftest import Pair
from tests.support.java_reader import ISOLATIONS, JavaReader, LogRecord, PartitionLog
from tests.support.kafka_client import create_topic
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    CODECS,
    Written,
    make_append_time,
    make_big_batches,
    make_compacted,
    make_every_codec,
    make_far_start,
    make_late_start,
    make_odd_records,
    make_small_batches,
    make_transactions,
    write,
    write_markers,
)

AT = int(time.time() * 1000) - 24 * 3600 * 1000  # older than retention.ms, and the broker would remove the records


def values(log: PartitionLog) -> list[bytes]:
    return [record.value or b"" for record in log.records]


def count_values(logs: dict[int, PartitionLog], word: bytes) -> dict[int, int]:
    return {partition: sum(v.startswith(word) for v in values(log)) for partition, log in logs.items()}


def fetch_headers(servers: str, topic: str, partitions: int = 1) -> list[BatchHeader]:
    with Cluster(ClusterAddress(alias="A", bootstrap=(servers,))) as cluster:
        info = cluster.fetch_metadata([topic]).topics[topic]
        return [header for p in range(partitions) for header, _ in read_log(cluster, info, p, 0, 1 << 62)]


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (make_odd_records, 0),
        (make_append_time, 0),
        (make_every_codec, 0),
        (partial(make_small_batches, records=300), 0),
        (partial(make_big_batches, codec="lz4"), 0),
        (partial(make_late_start, records=100, first=37), 37),
        (partial(make_far_start, first=1_200_000, records=10), 1_200_000),
    ],
    ids=["odd", "append-time", "codecs", "small", "big", "late-start", "far-start"],
)
def test_every_record_is_read_as_it_was_written(
    pair: Pair, topic: str, java_reader: JavaReader, make: Callable[[str, str], Written], first: int
) -> None:
    made = make(pair.source, topic)
    for isolation in ISOLATIONS:
        logs = java_reader.read(pair.source, topic, isolation)
        assert {partition: list(log.records) for partition, log in logs.items()} == made
        for partition, log in logs.items():
            assert (log.beginning, log.end) == (first, made[partition][-1].offset + 1)
            assert (log.count, log.first, log.last) == (len(log.records), first, log.end - 1)


def test_makers_make_the_batches_that_they_promise(pair: Pair, topic: str) -> None:
    make_every_codec(pair.source, f"{topic}-codecs", records=5)
    assert [CODECS[header.codec] for header in fetch_headers(pair.source, f"{topic}-codecs")] == list(CODECS)
    make_small_batches(pair.source, f"{topic}-small", records=400)
    sizes = {header.records for header in fetch_headers(pair.source, f"{topic}-small", 4)}
    assert len(sizes) > 1
    assert sizes <= set(range(1, 11))
    make_big_batches(pair.source, f"{topic}-big", batches=2)
    assert [header.length >> 20 for header in fetch_headers(pair.source, f"{topic}-big")] == [4, 4]
    odd = make_odd_records(pair.source, f"{topic}-odd", records=5)
    assert odd[0][-7:] and {-1, 0} <= {record.timestamp for record in odd[0]}
    assert all(header.is_log_append_time for header in _append_time_headers(pair.source, f"{topic}-time"))


def _append_time_headers(servers: str, topic: str) -> list[BatchHeader]:
    make_append_time(servers, topic, records=5)
    return fetch_headers(servers, topic)


def test_digests_tell_the_same_as_rows(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    make_small_batches(pair.source, topic, partitions=2, records=9000)
    rows = java_reader.read(pair.source, topic)
    digests = java_reader.read(pair.source, topic, digest=True)
    assert {partition: replace(log, records=()) for partition, log in rows.items()} == digests
    assert list(digests[0].blocks) == [0, 1]
    assert java_reader.read(pair.source, topic, partitions=[1]) == {1: rows[1]}


def test_aborted_records_are_seen_by_read_uncommitted_alone(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    made = make_transactions(pair.source, topic, partitions=3, transactions=60, producers=3, aborted_share=0.3)
    assert made.committed + made.aborted == 60
    assert made.aborted > 5
    committed = java_reader.read(pair.source, topic, "read_committed")
    assert {p: log.count for p, log in committed.items()} == made.committed_records
    assert count_values(committed, b"committed") == made.committed_records
    everything = java_reader.read(pair.source, topic, "read_uncommitted")
    assert count_values(everything, b"committed") == made.committed_records
    assert count_values(everything, b"aborted") == made.aborted_records
    assert {p: log.end for p, log in committed.items()} == {p: log.end for p, log in everything.items()}
    with pytest.raises(AssertionError, match=r"read_uncommitted.*is only on the target.*aborted"):
        assert_same_log(java_reader, pair.source, topic, pair.source, topic, mirrored="read_committed")


def test_open_transaction_holds_back_read_committed(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    made = make_transactions(pair.source, topic, partitions=1, transactions=40, producers=2, leave_open=True)
    assert made.open is not None
    with made.open as transaction:
        before, everything = (java_reader.read(pair.source, topic, isolation)[0] for isolation in ISOLATIONS)
        opened = [record.offset for record in everything.records if (record.value or b"").startswith(b"open")]
        assert len(opened) == transaction.records
        assert before.end == opened[0]
        assert 0 < before.count < made.committed_records[0]
        transaction.commit()
    after = java_reader.read(pair.source, topic)[0]
    assert after.count == made.committed_records[0] + transaction.records
    assert after.end == everything.end + 1, "the marker"


def test_cleaned_log_has_the_last_record_of_each_key(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    kept = make_compacted(pair.source, f"{topic}-kept", partitions=2, keys=20, tombstones=5, remove_tombstones=False)
    gone = make_compacted(pair.source, f"{topic}-gone", keys=20, tombstones=5)
    logs = java_reader.read(pair.source, f"{topic}-kept", latest=True)
    assert sum(log.count for log in logs.values()) == kept.written - kept.removed < kept.written
    for partition, log in logs.items():
        last = {record.key: record for record in log.records}
        assert last == kept.latest[partition]
        found = {key: (latest.offset, latest.is_tombstone) for key, latest in log.latest.items()}
        assert found == {key: (record.offset, record.value is None) for key, record in kept.latest[partition].items()}
    (log,) = java_reader.read(pair.source, f"{topic}-gone").values()
    alive = {key: record for key, record in gone.latest[0].items() if record.value is not None}
    assert {record.key: record for record in log.records} == alive
    assert len(alive) == 16
    assert log.count < log.end - log.beginning


def test_compacted_logs_are_the_same_if_the_last_records_are(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    create_topic(pair.source, f"{topic}-source")
    write(pair.source, f"{topic}-source", keyed(("a", b"1"), ("b", b"1"), ("a", b"2"), ("c", None)))
    create_topic(pair.source, f"{topic}-cleaned")
    write_markers(pair.source, f"{topic}-cleaned", 1)
    write(pair.source, f"{topic}-cleaned", keyed(("b", b"1"), ("a", b"2")))
    create_topic(pair.source, f"{topic}-other")
    write(pair.source, f"{topic}-other", keyed(("a", b"1"), ("b", b"1"), ("a", b"3"), ("c", None)))
    sides = (java_reader, pair.source, f"{topic}-source", pair.source)
    assert_same_log(*sides, f"{topic}-cleaned", compacted=True)
    with pytest.raises(AssertionError, match="offset 0 is missing on the target"):
        assert_same_log(*sides, f"{topic}-cleaned")
    with pytest.raises(AssertionError, match="the last record of key b'a' is at offset 2 with"):
        assert_same_log(*sides, f"{topic}-other", compacted=True)


def test_read_committed_mirror_may_lack_exactly_the_aborted_records(
    pair: Pair, topic: str, java_reader: JavaReader
) -> None:
    """Source: records 0 and 1, aborted 2 to 4 and their marker 5, record 6. The target has four markers instead."""
    source, target = f"{topic}-source", f"{topic}-target"
    for servers, name in ((pair.source, source), (pair.target, target)):
        create_topic(servers, name)
        write(servers, name, records_of(range(2)))
    abort_records(pair.source, source, 3)
    write_markers(pair.target, target, 4)
    for servers, name in ((pair.source, source), (pair.target, target)):
        write(servers, name, records_of([6]))
    sides = (java_reader, pair.source, source, pair.target, target)
    assert_same_log(*sides, mirrored="read_committed", beginnings=True, ends=True)
    for mirrored in ("read_uncommitted", None):
        with pytest.raises(AssertionError, match=r"read_uncommitted\).*: offset 2 is missing on the target"):
            assert_same_log(*sides, mirrored=mirrored)


def test_a_target_that_lacks_committed_records_is_not_the_same(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    make_transactions(pair.source, topic, partitions=1, transactions=10, producers=1)
    create_topic(pair.source, f"{topic}-empty")
    with pytest.raises(AssertionError, match=r"read_committed\).*: offset 0 is missing on the target"):
        assert_same_log(java_reader, pair.source, topic, pair.source, f"{topic}-empty", mirrored="read_committed")


Change = Callable[[list[LogRecord]], list[LogRecord]]


LONG_LOG = [LogRecord(i, AT + i, "CreateTime", b"", b"v%d" % i, (("h", b""),)) for i in range(5000)]


def as_written(record: LogRecord) -> dict[str, object]:
    fields = {"key": record.key, "value": record.value, "timestamp": record.timestamp}
    return {**fields, "headers": list(record.headers), "partition": 0}


@pytest.fixture(scope="module")
def long_log(pair: Pair, java_reader: JavaReader) -> str:
    name = f"long-log-{uuid.uuid4().hex[:6]}"
    create_topic(pair.source, name)
    write(pair.source, name, map(as_written, LONG_LOG))
    assert_same_log(java_reader, pair.source, name, pair.source, name)
    return name


def change_one(offset: int, **changes: object) -> Change:
    return lambda log: [replace(r, **changes) if r.offset == offset else r for r in log]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_one(4999, value=b"x"), "offset 4999: value b'v4999' became b'x'$"),
        (change_one(5, value=None), "offset 5: value b'v5' became None$"),
        (change_one(5, key=None), "offset 5: key b'' became None$"),
        (change_one(5, timestamp=AT), f"offset 5: timestamp {AT + 5} became {AT}$"),
        (change_one(5, headers=(("h", None),)), r"offset 5: headers \(\('h', b''\),\) became \(\('h', None\),\)$"),
        (lambda log: log[:-1], "offset 4999 is missing on the target: key b'', value b'v4999'"),
        (lambda log: [*log, log[0]], "offset 5000 is only on the target: key b'', value b'v0'"),
        (lambda log: [log[1], log[0], *log[2:]], "offset 0: timestamp .* became .*, value b'v0' became b'v1'$"),
    ],
)
def test_first_difference_is_named(
    pair: Pair, topic: str, long_log: str, java_reader: JavaReader, change: Change, message: str
) -> None:
    create_topic(pair.source, topic)
    write(pair.source, topic, (as_written(record) for record in change(LONG_LOG)))
    with pytest.raises(AssertionError, match=message):
        assert_same_log(java_reader, pair.source, long_log, pair.source, topic)


def test_edges_and_ignored_fields_are_compared_as_asked(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    make_append_time(pair.source, f"{topic}-a", records=10)
    made = make_append_time(pair.source, f"{topic}-b", records=10)
    sides = (java_reader, pair.source, f"{topic}-a", pair.source, f"{topic}-b")
    assert_same_log(*sides, ignoring=["timestamp"], beginnings=True, ends=True)
    write(pair.source, f"{topic}-b", [{"partition": 0}])
    with pytest.raises(AssertionError, match="the source ends at 10, the target at 11"):
        assert_same_log(*sides, ends=True)
    create_topic(pair.source, f"{topic}-c")
    write(pair.source, f"{topic}-c", ({"value": r.value, "timestamp": r.timestamp, "partition": 0} for r in made[0]))
    sides = (java_reader, pair.source, f"{topic}-c", pair.source, f"{topic}-a")
    assert_same_log(*sides, ignoring=["timestamp", "timestamp_type"])
    with pytest.raises(AssertionError, match="offset 0: timestamp_type 'CreateTime' became 'LogAppendTime'"):
        assert_same_log(*sides, ignoring=["timestamp"])


def test_a_topic_that_is_not_there_is_said(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    with pytest.raises(AssertionError, match=f"there is no topic {topic}"):
        java_reader.read(pair.source, topic)


def records_of(numbers: Sequence[int]) -> list[dict[str, object]]:
    return [{"value": b"v%d" % i, "timestamp": AT + i, "partition": 0} for i in numbers]


def keyed(*pairs: tuple[str, bytes | None]) -> list[dict[str, object]]:
    return [{"key": key, "value": value, "timestamp": AT, "partition": 0} for key, value in pairs]


def abort_records(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"aborted", partition=0)
    producer.flush(30)
    producer.abort_transaction(30)
