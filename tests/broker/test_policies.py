"""What can't be undone stops its partition by a named fact, or goes on where a policy says so; limits and throttle."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaException

from sparkmirror.copy.lease import ALWAYS, CONTINUE, Rules
from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, topics
from tests.support.leases import Copied, new_producer_id, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import remove_records

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


@pytest.fixture
def copied(pair: Pair, topic: str, producer_id: int) -> Copied:
    """A topic of which 100 records are in the target."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write(pair.source, topic, 0, 100)
    return run_lease(pair.source, pair.target, topic, producer_id)


def write(servers: str, topic: str, first: int, end: int) -> None:
    produce(servers, topic, ({"value": b"%d" % i} for i in range(first, end)))


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % i for i in range(first, end)]


def rows(reader: JavaReader, servers: str, topic: str) -> list[tuple[int, bytes | None]]:
    return [(r.offset, r.value) for r in reader.read(servers, topic)[0].records]


def make_anew(servers: str, topic: str) -> None:
    delete_topic(servers, topic)
    await_condition(lambda: topic not in topics(servers), "the deletion")

    def is_made() -> bool:
        try:
            create_topic(servers, topic, 1)
        except KafkaException:  # an old broker still knows the one before
            return False
        return True

    await_condition(is_made, "the new topic")


def test_a_gap(pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader) -> None:
    write(pair.source, topic, 100, 200)
    remove_records(pair.source, topic, 150)
    stopped = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    (fact,) = stopped.facts
    assert f"{topic}-0 stopped gap: source offsets 100..149 were removed" in fact
    assert [offset for offset, _ in rows(java_reader, pair.target, topic)] == list(range(100))
    rules = Rules(on_gap=CONTINUE)
    on = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=rules)
    assert ["noted gap:" in fact for fact in on.facts] == [True]
    expected = [*enumerate(numbers(0, 100)), *((i, b"%d" % i) for i in range(150, 200))]
    assert rows(java_reader, pair.target, topic) == expected, "equal offsets across the gap"


def test_a_gap_beyond_the_largest_hole_is_translated_or_refused(
    pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader
) -> None:
    write(pair.source, topic, 100, 200)
    remove_records(pair.source, topic, 150)
    always = Rules(on_gap=CONTINUE, max_hole=10, preserve=ALWAYS)
    refused = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=always)
    assert "stopped offsets-not-equal: " in refused.facts[0]
    auto = Rules(on_gap=CONTINUE, max_hole=10)
    run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=auto)
    assert rows(java_reader, pair.target, topic) == list(enumerate(numbers(0, 100) + numbers(150, 200)))


def test_a_source_topic_made_anew(
    pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader
) -> None:
    make_anew(pair.source, topic)
    write(pair.source, topic, 1000, 1030)
    stopped = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert "stopped source-recreated: " in stopped.facts[0]
    rules = Rules(on_recreate=CONTINUE)
    on = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=rules)
    assert rows(java_reader, pair.target, topic) == list(enumerate(numbers(0, 100) + numbers(1000, 1030)))
    again = run_lease(pair.source, pair.target, topic, producer_id, hints=on.standings)
    assert (again.facts, again.total("records")) == ([], 0), "known from then on"


def test_a_target_topic_made_anew(
    pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader
) -> None:
    make_anew(pair.target, topic)
    stopped = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert "stopped target-recreated: " in stopped.facts[0]
    rules = Rules(on_recreate=CONTINUE)
    run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=rules)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_both_topics_made_anew_are_a_new_pair(
    pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader
) -> None:
    for servers in (pair.source, pair.target):
        make_anew(servers, topic)
    write(pair.source, topic, 500, 550)
    anew = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert anew.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_a_foreign_writer(pair: Pair, topic: str, producer_id: int, copied: Copied, java_reader: JavaReader) -> None:
    produce(pair.target, topic, [{"value": b"foreign"}])
    write(pair.source, topic, 100, 150)
    stopped = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert "stopped foreign-writer: somebody else wrote" in stopped.facts[0]
    rules = Rules(on_divergence=CONTINUE)
    on = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings, rules=rules)
    expected = [*numbers(0, 100), b"foreign", *numbers(100, 150)]
    assert rows(java_reader, pair.target, topic) == list(enumerate(expected))
    assert "others wrote into the target topic" in on.standings[topic, 0].translated


@pytest.mark.parametrize("versioned", ["2.4.1"], indirect=True)
def test_a_log_that_was_cut_back_is_noticed_without_topic_ids(
    versioned: KafkaCluster, pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    source = versioned.bootstrap_servers
    create_topic(source, topic, 1)
    create_topic(pair.target, topic, 1)
    write(source, topic, 0, 100)
    first = run_lease(source, pair.target, topic, producer_id)
    make_anew(source, topic)
    write(source, topic, 0, 40)
    hint = {(topic, 0): first.standings[topic, 0]._replace(source_id="")}
    stopped = run_lease(source, pair.target, topic, producer_id, hints=hint, seconds=15)
    assert "stopped source-truncated: the target holds records up to offset 99" in stopped.facts[0]
    rules = Rules(on_divergence=CONTINUE)
    write(source, topic, 40, 45)
    on = run_lease(source, pair.target, topic, producer_id, hints=hint, rules=rules, seconds=15)
    assert "noted source-truncated: " in on.facts[0]


@pytest.mark.parametrize("versioned", ["2.4.1"], indirect=True)
def test_a_target_that_lost_everything_is_noticed_without_topic_ids(
    versioned: KafkaCluster, pair: Pair, topic: str, java_reader: JavaReader
) -> None:
    target = versioned.bootstrap_servers
    producer_id = new_producer_id(target)
    create_topic(pair.source, topic, 1)
    create_topic(target, topic, 1)
    write(pair.source, topic, 0, 100)
    first = run_lease(pair.source, target, topic, producer_id)
    make_anew(target, topic)
    stopped = run_lease(pair.source, target, topic, producer_id, hints=first.standings, seconds=15)
    assert "stopped target-wiped: " in stopped.facts[0]
    rules = Rules(on_divergence=CONTINUE)
    run_lease(pair.source, target, topic, producer_id, hints=first.standings, rules=rules, seconds=15)
    assert_same_log(java_reader, pair.source, topic, target, topic, ends=True)


@pytest.mark.parametrize("is_ours", [True, False], ids=["made by the mirror", "made by others"])
def test_a_record_that_is_too_large(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, is_ours: bool
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1, config={"max.message.bytes": "20000"})
    produce(pair.source, topic, [{"value": b"before"}, {"value": b"x" * 100_000}, {"value": b"after"}])
    first = run_lease(pair.source, pair.target, topic, producer_id, is_ours=is_ours)
    if is_ours:
        assert first.facts == []
        assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)
        return
    assert "stopped record-too-large: the record at source offset 1" in first.facts[0]
    assert rows(java_reader, pair.target, topic) == [(0, b"before")]
    rules = Rules(on_gap=CONTINUE)
    run_lease(pair.source, pair.target, topic, producer_id, hints=first.standings, rules=rules)
    assert rows(java_reader, pair.target, topic) == [(0, b"before"), (2, b"after")]


@pytest.mark.parametrize("is_ours", [True, False], ids=["made by the mirror", "made by others"])
def test_a_timestamp_beyond_the_targets_limit(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, is_ours: bool
) -> None:
    create_topic(pair.source, topic, 1, config={"message.timestamp.after.max.ms": str(2**63 - 1)})
    create_topic(pair.target, topic, 1)
    microseconds = int(time.time() * 1_000_000)
    produce(pair.source, topic, [{"value": b"micro", "timestamp": microseconds}])
    copied = run_lease(pair.source, pair.target, topic, producer_id, is_ours=is_ours)
    if is_ours:
        assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)
    else:
        assert "stopped timestamp-refused: " in copied.facts[0]


def test_a_throttle_is_kept(pair: Pair, topic: str, producer_id: int, java_reader: JavaReader) -> None:
    create_topic(pair.source, topic, 2)
    create_topic(pair.target, topic, 2)
    produce(pair.source, topic, ({"value": b"x" * 1000, "partition": i % 2} for i in range(4000)), batch_size=50_000)
    began = time.monotonic()
    run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(bytes_per_second=1_000_000))
    assert time.monotonic() - began > 2.0, "4 MB at 1 MB a second, of which one fetch may be taken in advance"
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_always_refuses_a_target_with_other_data(pair: Pair, topic: str, producer_id: int) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    produce(pair.target, topic, [{"value": b"other"}])
    write(pair.source, topic, 0, 5)
    refused = run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(preserve=ALWAYS))
    assert "stopped offsets-not-equal: " in refused.facts[0]
