"""Each kind of source log, copied by a lease: Kafka's own consumer sees the same records at the same offsets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sparkmirror.copy.lease import NEVER, NOTHING, TRANSACTIONS, Rules
from sparkmirror.net.offsets import EARLIEST
from sparkmirror.protocol.fetch import READ_UNCOMMITTED
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    make_append_time,
    make_big_batches,
    make_compacted,
    make_every_codec,
    make_far_start,
    make_late_start,
    make_odd_records,
    make_small_batches,
    make_transactions,
)

pytestmark = pytest.mark.timeout(180)

NO_TIME_LIMIT = {"message.timestamp.after.max.ms": str(2**63 - 1)}


@pytest.fixture(scope="module")
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


@pytest.mark.parametrize(
    "make",
    [make_small_batches, make_every_codec, make_odd_records, make_late_start],
    ids=lambda make: make.__name__.removeprefix("make_"),
)
def test_the_target_equals_the_source(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, make: Callable[..., object]
) -> None:
    make(pair.source, topic)
    create_topic(pair.target, topic, len(ends(pair.source, topic)))
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


def test_big_batches_are_split_where_the_target_takes_only_smaller_ones(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_big_batches(pair.source, topic)
    create_topic(pair.target, topic, 1, config={"max.message.bytes": "200000"})
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert copied.facts == []
    assert copied.total("rebuilt") == copied.total("records") > 0
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_a_batch_that_fits_does_not_overtake_those_in_front_of_it_that_do_not(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """A leader that does not know our producer would take it, whatever its sequence."""
    create_topic(pair.source, topic, 1)
    # Batches of 100 KB: merged they are more than the target takes, but for the two that are left at the end.
    produce(pair.source, topic, ({"value": b"%0100000d" % i} for i in range(38)), batch_num_messages=1)
    create_topic(pair.target, topic, 1, config={"max.message.bytes": "500000"})
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_a_target_that_compresses_otherwise_keeps_records_and_offsets(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_every_codec(pair.source, topic)
    create_topic(pair.target, topic, 1, config={"compression.type": "gzip"})
    run_lease(pair.source, pair.target, topic, producer_id)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_timestamps_of_the_source_broker_are_kept_as_create_times(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_append_time(pair.source, topic)
    create_topic(pair.target, topic, 1)
    run_lease(pair.source, pair.target, topic, producer_id)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ignoring=["timestamp_type"], ends=True)


@pytest.mark.parametrize("fill_with", ["markers", TRANSACTIONS])
def test_transactions_are_copied_without_what_was_aborted(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, fill_with: str
) -> None:
    made = make_transactions(pair.source, topic, transactions=120, aborted_share=0.5)
    create_topic(pair.target, topic, 4)
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(fill_with=fill_with))
    assert copied.facts == []
    assert copied.total("records") == sum(made.committed_records.values())
    assert copied.total("holes") > sum(made.aborted_records.values())
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_uncommitted_reading_copies_aborted_records_too(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_transactions(pair.source, topic, transactions=60, aborted_share=0.5)
    create_topic(pair.target, topic, 4)
    rules = Rules(isolation=READ_UNCOMMITTED)
    run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_uncommitted", ends=True)


def test_nothing_behind_an_open_transaction_is_copied_before_it_ends(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    made = make_transactions(pair.source, topic, transactions=40, leave_open=True)
    create_topic(pair.target, topic, 4)
    assert made.open is not None
    with made.open as held:
        copied = run_lease(pair.source, pair.target, topic, producer_id)
        assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed")
        held.commit()
    run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert_same_log(
        java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True, await_s=10
    )


@pytest.mark.parametrize("remove_tombstones", [True, False])
def test_a_compacted_topic_keeps_the_latest_value_of_each_key_at_its_offset(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, remove_tombstones: bool
) -> None:
    made = make_compacted(pair.source, topic, remove_tombstones=remove_tombstones)
    assert made.removed > 0
    create_topic(pair.target, topic, 1)
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert copied.facts == [] and copied.total("holes") > 0
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, compacted=True)


@pytest.mark.long
def test_a_log_start_at_fifty_million_is_reached_in_seconds(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_far_start(pair.source, topic)
    create_topic(pair.target, topic, 1)
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert copied.facts == []
    assert ends(pair.target, topic, EARLIEST) == {0: 50_000_000}
    assert copied.noted[topic, 0].log_start == 50_000_000, "written down before the first filler"
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


@pytest.mark.parametrize("rules", [Rules(preserve=NEVER), Rules(fill_with=NOTHING), Rules(max_hole=0)])
def test_translated_offsets_have_every_record_in_order(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, rules: Rules
) -> None:
    """Not asked for, no right to fill, or holes beyond the limit."""
    make_transactions(pair.source, topic, transactions=40, aborted_share=0.5, partitions=1, span=1)
    create_topic(pair.target, topic, 1)
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert copied.facts == []
    assert copied.noted[topic, 0].translated, "written down before the first record"
    for isolation in ("read_committed", "read_uncommitted"):
        there = java_reader.read(pair.target, topic, isolation)[0]
        here = java_reader.read(pair.source, topic)[0]
        assert [r.value for r in there.records] == [r.value for r in here.records]
        assert [r.offset for r in there.records] == list(range(len(here.records)))
    more = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=copied.noted)
    assert more.total("records") == 0, "the position is found again from what was written down first"
