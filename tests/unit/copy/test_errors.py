"""Tries that fail and records that can't be copied: how often, how long, and what is said of them."""

from __future__ import annotations

import pytest

from sparkmirror.copy.appender import Appended
from sparkmirror.copy.cursor import WENT_WELL_S, State
from sparkmirror.copy.lease import Errors, Rules
from sparkmirror.copy.queue import Hole, Ready
from sparkmirror.copy.receipt import SAID, SKIPPED, STOPPED
from sparkmirror.protocol import codes
from sparkmirror.protocol.fetch import FetchedPartition
from sparkmirror.protocol.produce import ProducedPartition
from tests.support.batches import simple_batch
from tests.support.rosters import A, appender_at, fetched, roster_of, settle

TOLERANT = Errors(tolerate=True, log=True, log_content=True)


def batch_of(records: int, first: int = 0) -> FetchedPartition:
    return FetchedPartition("t", 0, 0, 1000, 1000, 0, (), -1, memoryview(simple_batch(first, records)))


def test_pauses_grow_up_to_the_longest() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(first_pause_s=0.3, longest_pause_s=0.7)))
    pauses = []
    for _ in range(3):
        roster.lose(cursor, "no", 100.0)
        pauses.append(round(cursor.retry_at - 100.0, 3))
    assert pauses == [0.3, 0.6, 0.7]


def test_a_partition_whose_tries_fail_for_too_long_stops_by_name() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(retry_timeout_s=10.0)))
    roster.lose(cursor, "the broker is away", 100.0)
    roster.lose(cursor, "the broker is away", 109.9)
    assert roster.lost == {cursor} and roster.book.take() == []
    roster.lose(cursor, "the broker is away", 110.0)
    (receipt,) = roster.book.take()
    assert cursor.state is State.STOPPED and receipt.kind == STOPPED
    assert receipt.error.startswith("retries-exhausted: tries have failed for longer than 10 s (errors.retry.timeout)")
    assert "the broker is away" in receipt.error


def test_leases_before_count_and_without_a_timeout_nothing_does() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(retry_timeout_s=10.0)), failing_s=9.0)
    roster.lose(cursor, "no", 100.0)
    roster.lose(cursor, "no", 101.0)
    assert cursor.state is State.STOPPED
    roster, cursor = roster_of(Rules(), failing_s=1e9)
    roster.lose(cursor, "no", 100.0)
    assert cursor.state is State.LOST


def test_what_went_well_in_between_begins_anew() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(retry_timeout_s=10.0)), failing_s=9.0)
    roster.lose(cursor, "no", 100.0)
    settle(roster, cursor, now=100.5)
    roster.lose(cursor, "no", 100.5 + WENT_WELL_S + 0.1)
    assert cursor.state is State.LOST and cursor.failing_s(110.0) < 10.0


def test_going_on_in_another_way_is_no_failure() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(retry_timeout_s=0.0)))
    roster.look_again(cursor, "a limit is raised", 100.0)
    assert roster.lost == {cursor} and cursor.retry_at == 100.0
    roster.lose(cursor, "no", 100.0)
    assert cursor.state is State.STOPPED, "with 0 the first failure is one too many"


@pytest.mark.parametrize("error", [codes.INVALID_RECORD, codes.INVALID_TIMESTAMP])
def test_a_record_that_the_target_refuses_is_left_out_and_said(error: int) -> None:
    roster, cursor = roster_of(Rules(errors=TOLERANT))
    appender, _ = appender_at(A)
    settle(roster, cursor)
    roster.take_fetched(cursor, batch_of(5), 0.0)
    ready = cursor.queue.pop_batch()
    answer = ProducedPartition("A.t", 0, error, -1, 0, "no key", faulty=(1, 3))
    roster.take_event(appender, Appended(cursor, ready, answer), 7.0)
    assert cursor.state is State.LOST and cursor.retry_at == 7.0
    receipts = roster.book.take()
    (skipped,) = [r for r in receipts if r.kind == SKIPPED]
    assert skipped.skipped == 2 and "source offset 3 is left out (errors.tolerance)" in skipped.error
    lines = [r.error for r in receipts if r.kind == SAID]
    assert [line.partition(" is left out")[0] for line in lines] == [f"the record at source offset {i}" for i in (1, 3)]
    assert all("no key; key " in line and ", value " in line for line in lines)
    settle(roster, cursor)
    roster.take_fetched(cursor, batch_of(5), 7.0)
    queued = []
    while cursor.queue:
        head = cursor.queue.head
        queued.append((type(head), head.first, head.end))  # type: ignore[union-attr]
        cursor.queue.fill(1) if isinstance(head, Hole) else cursor.queue.pop_batch()
    assert queued == [(Ready, 0, 1), (Hole, 1, 2), (Ready, 2, 3), (Hole, 3, 4), (Ready, 4, 5)]


def test_without_tolerance_it_stops_and_nothing_is_logged_that_was_not_wanted() -> None:
    answer = ProducedPartition("A.t", 0, codes.INVALID_RECORD, -1, 0, None, faulty=(0,))
    appender, _ = appender_at(A)
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 0.0)
    roster.take_event(appender, Appended(cursor, cursor.queue.pop_batch(), answer), 0.0)
    assert cursor.state is State.STOPPED
    roster, cursor = roster_of(Rules(errors=Errors(tolerate=True)))
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 0.0)
    roster.take_event(appender, Appended(cursor, cursor.queue.pop_batch(), answer), 0.0)
    assert [r.kind for r in roster.book.take()] == [SKIPPED]


@pytest.mark.parametrize("error", [codes.INVALID_RECORD, codes.RECORD_LIST_TOO_LARGE, codes.MESSAGE_TOO_LARGE])
def test_a_batch_is_split_until_the_record_that_is_refused_stands_alone(error: int) -> None:
    answer = ProducedPartition("A.t", 0, error, -1, 0, None, faulty=())
    appender, _ = appender_at(A)
    roster, cursor = roster_of(Rules())
    sizes = []
    for _ in range(20):
        settle(roster, cursor)
        roster.take_fetched(cursor, batch_of(8), 0.0)
        ready = cursor.queue.pop_batch()
        sizes.append(ready.records)
        roster.take_event(appender, Appended(cursor, ready, answer), 0.0)
        if cursor.state is State.STOPPED:
            break
    assert sizes[0] == 8 and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True)
    assert [(r.kind, r.error.partition(":")[0]) for r in roster.book.take()] == [
        (STOPPED, "record-too-large" if error == codes.MESSAGE_TOO_LARGE else "refused")
    ]


@pytest.mark.parametrize("faulty", [(), (8, -1)], ids=["nothing", "nonsense"])
def test_a_broker_that_does_not_say_which_record_gets_smaller_batches(faulty: tuple[int, ...]) -> None:
    answer = ProducedPartition("A.t", 0, codes.INVALID_TIMESTAMP, -1, 0, None, faulty)
    appender, _ = appender_at(A)
    roster, cursor = roster_of(Rules(errors=TOLERANT))
    for _ in range(20):
        settle(roster, cursor)
        roster.take_fetched(cursor, batch_of(8), 0.0)
        head = cursor.queue.head
        if isinstance(head, Hole):
            break
        roster.take_event(appender, Appended(cursor, cursor.queue.pop_batch(), answer), 0.0)
    assert head == Hole(0, 1), "the first one, once it stood alone"


def test_what_stands_before_in_a_fetch_passes_as_it_is_and_only_once() -> None:
    """Also where a batch that passes stands before the one with the record, and is written over."""
    roster, cursor = roster_of(Rules(errors=TOLERANT))
    settle(roster, cursor)
    cursor.queue.leave_out.add(4002)
    both = bytes(simple_batch(0, 4000)) + bytes(simple_batch(4000, 5))
    roster.take_fetched(cursor, FetchedPartition("t", 0, 0, 9000, 9000, 0, (), -1, memoryview(bytearray(both))), 0.0)
    queued = []
    while cursor.queue:
        head = cursor.queue.head
        queued.append((type(head), head.first, head.end))  # type: ignore[union-attr]
        cursor.queue.fill(1) if isinstance(head, Hole) else cursor.queue.pop_batch()
    assert queued == [(Ready, 0, 4000), (Ready, 4000, 4002), (Hole, 4002, 4003), (Ready, 4003, 4005)]
