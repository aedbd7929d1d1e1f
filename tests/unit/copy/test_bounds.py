"""What a task may hold and send at once, and how long it waits for an acknowledgement."""

from __future__ import annotations

from sparkmirror.copy.appender import Appended
from sparkmirror.copy.cursor import State
from sparkmirror.copy.lease import Bounds, Errors, LeasePartition, Rules
from sparkmirror.copy.receipt import SKIPPED, STOPPED, WAITING
from sparkmirror.protocol.fetch import FetchedPartition
from sparkmirror.protocol.produce import ProducedPartition
from tests.support.batches import simple_batch
from tests.support.rosters import A, appender_at, fetched, roster_of, settle


def batches(first: int, count: int, records: int) -> FetchedPartition:
    joined = b"".join(bytes(simple_batch(first + i * records, records)) for i in range(count))
    return FetchedPartition("t", 0, 0, 1000, 1000, 0, (), -1, memoryview(bytearray(joined)))


def test_records_that_are_held_leave_less_to_be_fetched_until_they_are_acknowledged() -> None:
    roster, cursor = roster_of(Rules(bounds=Bounds(held_records=30)))
    settle(roster, cursor)
    roster.take_fetched(cursor, batches(0, 1, 20), 0.0)
    a_record = cursor.held_bytes / 20
    assert (roster.held_records, roster.readahead_bytes()) == (20, int(10 * a_record))
    roster.take_fetched(cursor, batches(20, 1, 20), 0.0)
    assert (roster.held_records, roster.readahead_bytes()) == (40, 0)
    appender, channel = appender_at(A)
    appender.offer(cursor)
    appender.send()
    for _, ready in channel.pending[0].tag.sent.values():
        roster.take_event(appender, Appended(cursor, ready, ProducedPartition("A.t", 0, 0, ready.first, 0, None)), 0.0)
    assert roster.held_records == 40 - ready.records
    roster.lose(cursor, "gone", 0.0)
    assert (roster.held_records, roster.held.bytes) == (0, 0)


def test_without_a_bound_records_do_not_count() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, batches(0, 1, 20), 0.0)
    assert roster.readahead_bytes() > 1 << 30


def test_a_request_is_no_larger_than_wanted() -> None:
    size = len(simple_batch(0, 1000))
    roster, first = roster_of(Rules())
    second = roster.add(LeasePartition(topic="t", partition=1, remote="A.t"))
    for cursor in (first, second):
        settle(roster, cursor)
        roster.take_fetched(cursor, batches(0, 1, 1000), 0.0)
    for wanted, requests in ((None, 1), (2 * size, 1), (2 * size - 1, 2)):
        appender, channel = appender_at(A, wanted)
        for cursor in (first, second):
            roster.lose(cursor, "again", 0.0)
            settle(roster, cursor)
            roster.take_fetched(cursor, batches(0, 1, 1000), 0.0)
            appender.offer(cursor)
        appender.send()
        assert len(channel.sent) == requests
        assert max(channel.sizes) - 200 < (wanted or 2 * size)


def test_a_batch_that_is_larger_than_a_request_is_split() -> None:
    whole = len(simple_batch(0, 1000))
    roster, cursor = roster_of(Rules(bounds=Bounds(request_bytes=whole // 3)))
    settle(roster, cursor)
    roster.take_fetched(cursor, batches(0, 1, 1000), 0.0)
    sizes = []
    while cursor.queue:
        sizes.append(len(cursor.queue.pop_batch().batch))
    assert len(sizes) >= 3 and max(sizes) <= whole // 3


def test_a_record_that_is_larger_than_a_request_stops_its_partition_or_is_left_out() -> None:
    bounds = Bounds(request_bytes=len(simple_batch(0, 1)) - 1)
    roster, cursor = roster_of(Rules(bounds=bounds))
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 0.0)
    (receipt,) = roster.book.take()
    assert cursor.state is State.STOPPED and receipt.kind == STOPPED
    assert receipt.error.startswith("record-too-large: the record at source offset 0 takes")
    assert "producer.max.request.size" in receipt.error
    roster, cursor = roster_of(Rules(bounds=bounds, errors=Errors(tolerate=True)))
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 0.0)
    assert [(r.kind, r.skipped) for r in roster.book.take()] == [(SKIPPED, 1)]
    assert cursor.state is State.COPYING and cursor.queue.position == 1


def test_an_append_that_is_not_acknowledged_is_said_once() -> None:
    roster, cursor = roster_of(Rules(bounds=Bounds(flush_timeout_s=3.0)))
    settle(roster, cursor)
    appender, _ = appender_at(A)
    roster.take_fetched(cursor, fetched(0), 0.0)
    appender.offer(cursor)
    appender.send()
    appender.paused_until = 1.0  # the broker throttled us until then
    said = []
    for now in (0.0, 3.9, 4.1, 5.0):
        roster.note_late(appender, now)
        said.append([(r.kind, r.error.partition(" has")[0]) for r in roster.book.take()])
    assert said == [[], [], [(WAITING, "flush-timeout: an append to h:1")], []]
