"""The record way, without Spark: each kind of source log as rows and back, judged by Kafka's own consumer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sparkmirror.copy.lease import CONTINUE, NEVER, TRANSACTIONS, Rules
from sparkmirror.copy.receipt import WAITING
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.rows import write_flow_rows
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    make_append_time,
    make_compacted,
    make_every_codec,
    make_late_start,
    make_odd_records,
    make_small_batches,
    make_transactions,
)
from tests.support.source_logs.log_start import remove_records

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


@pytest.mark.parametrize(
    "make",
    [make_small_batches, make_every_codec, make_odd_records, make_late_start],
    ids=lambda make: make.__name__.removeprefix("make_"),
)
def test_rows_become_the_same_log(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, make: Callable[..., object]
) -> None:
    make(pair.source, topic)
    create_topic(pair.target, topic, len(ends(pair.source, topic)))
    written = write_flow_rows(pair.source, pair.target, topic, producer_id)
    assert written.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


@pytest.mark.parametrize("fill_with", ["markers", TRANSACTIONS])
def test_transactions_leave_holes_at_the_same_offsets(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, fill_with: str
) -> None:
    made = make_transactions(pair.source, topic, transactions=100, aborted_share=0.5)
    create_topic(pair.target, topic, 4)
    written = write_flow_rows(pair.source, pair.target, topic, producer_id, rules=Rules(fill_with=fill_with))
    assert written.facts == []
    assert written.total("records") == sum(made.committed_records.values())
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_compacted_and_append_time_logs(pair: Pair, topic: str, producer_id: int, java_reader: JavaReader) -> None:
    stamped = f"{topic}-stamped"
    make_compacted(pair.source, topic)
    make_append_time(pair.source, stamped)
    for name in (topic, stamped):
        create_topic(pair.target, name)
        assert write_flow_rows(pair.source, pair.target, name, producer_id).facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, compacted=True)
    assert_same_log(java_reader, pair.source, stamped, pair.target, stamped, ignoring=["timestamp_type"], ends=True)


def test_nothing_is_sent_that_may_not_be_any_more_and_it_goes_on_from_there(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % n} for n in range(10)))
    barred = write_flow_rows(pair.source, pair.target, topic, producer_id, may_write=lambda: False)
    assert [(fact.kind, fact.error) for fact in barred.receipts] == [(WAITING, "another driver may lead")]
    assert ends(pair.target, topic) == {0: 0}
    assert write_flow_rows(pair.source, pair.target, topic, producer_id).facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_rows_that_come_again_are_not_written_again(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_transactions(pair.source, topic, transactions=40, aborted_share=0.3, partitions=1, span=1)
    create_topic(pair.target, topic)
    first = write_flow_rows(pair.source, pair.target, topic, producer_id)
    again = write_flow_rows(pair.source, pair.target, topic, producer_id)
    assert (first.total("records") > 0, again.total("records")) == (True, 0)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_rows_that_begin_too_late_are_preceded_by_what_is_missing(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """A partition that stood still while Spark went on: the task reads what the target lacks by itself."""
    make_small_batches(pair.source, topic, partitions=1)
    create_topic(pair.target, topic)
    written = write_flow_rows(pair.source, pair.target, topic, producer_id, first={0: 700})
    assert (written.facts, written.total("records")) == ([], 1000)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_both_ways_go_on_where_the_other_stopped(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic)
    create_topic(pair.target, topic)
    for turn, way in enumerate((run_lease, write_flow_rows, run_lease, write_flow_rows)):
        produce(pair.source, topic, ({"value": b"%d-%d" % (turn, i), "partition": 0} for i in range(500)))
        assert way(pair.source, pair.target, topic, producer_id).total("records") == 500  # type: ignore[operator]
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_translated_rows_have_every_record_once(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_transactions(pair.source, topic, transactions=40, aborted_share=0.5, partitions=1, span=1)
    create_topic(pair.target, topic)
    rules = Rules(preserve=NEVER)
    first = write_flow_rows(pair.source, pair.target, topic, producer_id, rules=rules)
    write_flow_rows(pair.source, pair.target, topic, producer_id, rules=rules, hints=first.noted)
    here, there = java_reader.read(pair.source, topic)[0], java_reader.read(pair.target, topic)[0]
    assert [r.value for r in there.records] == [r.value for r in here.records]


@pytest.mark.parametrize("on_gap", ["fail", CONTINUE])
def test_a_gap_is_a_named_fact(pair: Pair, topic: str, producer_id: int, on_gap: str) -> None:
    create_topic(pair.source, topic)
    create_topic(pair.target, topic)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": 0} for i in range(100)))
    first = write_flow_rows(pair.source, pair.target, topic, producer_id)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": 0} for i in range(100)))
    remove_records(pair.source, topic, 150)
    rules = Rules(on_gap=on_gap)
    more = write_flow_rows(
        pair.source, pair.target, topic, producer_id, first={0: 100}, hints=first.standings, rules=rules
    )
    assert any("gap" in fact and "100..149" in fact for fact in more.facts)
    assert more.total("records") == (50 if on_gap == CONTINUE else 0)
    assert ends(pair.target, topic)[0] == (200 if on_gap == CONTINUE else 100)
