"""What can't be copied exactly stops its own partition with a named error; the others go on."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.source_logs import make_append_time, make_late_start, make_small_batches, make_transactions


@pytest.mark.timeout(240)
def test_logs_of_every_kind_keep_their_offsets_and_one_that_cannot_is_translated(
    pair: Pair, topic: str, java_reader: JavaReader
) -> None:
    good, transactional, trimmed, taken, stamped = (f"{topic}-{n}" for n in ("good", "txn", "trim", "taken", "stamp"))
    make_small_batches(pair.source, good, partitions=2, records=200)
    make_transactions(pair.source, transactional, transactions=30, aborted_share=0.5)
    make_late_start(pair.source, trimmed)
    make_append_time(pair.source, stamped)
    create_topic(pair.source, taken, 1)
    produce(pair.source, taken, ({"value": b"%d" % i} for i in range(50)))
    create_topic(pair.target, f"A.{taken}", 1)
    produce(pair.target, f"A.{taken}", [{"value": b"somebody else's"}])
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}-.*"), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
    for name in (good, transactional, trimmed, stamped):
        assert_same_log(
            java_reader,
            pair.source,
            name,
            pair.target,
            f"A.{name}",
            mirrored="read_committed",
            ignoring=["timestamp_type"],
            beginnings=True,
            ends=True,
        )
    assert [r.value for r in read_all(pair.target, f"A.{taken}")[0][1:]] == [b"%d" % i for i in range(50)]


@pytest.mark.timeout(240)
def test_a_foreign_writer_in_the_target_stops_its_partition_before_the_next_append(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    remote = f"A.{topic}"
    with MirrorProcess(properties(pair.source, pair.target, topic)) as mirror:
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(100)))
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 100, "the copy")
        produce(pair.target, remote, [{"value": b"foreign", "partition": 0}])
        produce(pair.source, topic, ({"value": b"more", "partition": i % 2} for i in range(10)))
        mirror.await_log(f"{topic}-0 stopped", 30)
        await_condition(lambda: len(read_all(pair.target, remote)[1]) == 55, "the other partition")
        produce(pair.source, topic, ({"value": b"again", "partition": i % 2} for i in range(10)))
        await_condition(lambda: len(read_all(pair.target, remote)[1]) == 60, "the other partition again")
        values = [r.value for r in read_all(pair.target, remote)[0]]
        assert b"foreign" in values
        assert values.count(b"again") == 0, "written after the partition was known to have diverged"


@pytest.mark.timeout(240)
def test_records_that_were_removed_before_they_were_copied_are_a_gap_with_its_range(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 1)
    text = properties(pair.source, pair.target, topic)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(50)))
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(90) == 0, mirror.log()
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(50)))
    admin = AdminClient({"bootstrap.servers": pair.source})
    for future in admin.delete_records([TopicPartition(topic, 0, 80)]).values():
        future.result(timeout=30)
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(90) == 1
        assert "gap: source offsets 50..79 were removed" in mirror.log()
    assert total(pair.target, f"A.{topic}") == 50
