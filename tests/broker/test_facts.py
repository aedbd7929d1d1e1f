"""What can't be copied exactly stops its own partition with a named error; the others go on."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.timeout(240)
def test_logs_of_every_kind_keep_their_offsets_and_one_that_cannot_is_translated(pair: Pair, topic: str) -> None:
    good, transactional, trimmed, taken, stamped = (f"{topic}-{n}" for n in ("good", "txn", "trim", "taken", "stamp"))
    for name in (good, transactional, trimmed, taken):
        create_topic(pair.source, name, 1)
    create_topic(pair.source, stamped, 1, config={"message.timestamp.type": "LogAppendTime"})
    for name in (good, trimmed, taken, stamped):
        produce(pair.source, name, ({"value": b"%d" % i} for i in range(50)))
    _transaction(pair.source, transactional, commit=True)
    _transaction(pair.source, transactional, commit=False)
    _transaction(pair.source, transactional, commit=True)
    admin = AdminClient({"bootstrap.servers": pair.source})
    for future in admin.delete_records([TopicPartition(trimmed, 0, 20)]).values():
        future.result(timeout=30)
    create_topic(pair.target, f"A.{taken}", 1)
    produce(pair.target, f"A.{taken}", [{"value": b"somebody else's"}])
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}-.*"), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
    for name in (good, transactional, trimmed, stamped):
        assert read_all(pair.target, f"A.{name}") == read_all(pair.source, name)
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


@pytest.mark.timeout(240)
def test_a_source_topic_that_was_made_anew_is_named_and_nothing_is_mixed(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 1)
    text = properties(pair.source, pair.target, topic)
    produce(pair.source, topic, ({"value": b"old %d" % i} for i in range(50)))
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(90) == 0, mirror.log()
    delete_topic(pair.source, topic)
    await_condition(lambda: topic not in topics(pair.source), "the deletion")
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"new %d" % i} for i in range(80)))
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(90) == 1
        assert "source-recreated: the source topic" in mirror.log()
    assert [r.value for r in read_all(pair.target, f"A.{topic}")[0]] == [b"old %d" % i for i in range(50)]


def _transaction(servers: str, topic: str, *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"{topic}-id"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for i in range(3):
        producer.produce(topic, b"%d" % i)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.flush(30)
        producer.abort_transaction(30)
    # The coordinator writes the marker after it has answered.
    await_condition(lambda: total(servers, topic) == 4, "the marker")
    produce(servers, topic, [{"value": b"after"}])
