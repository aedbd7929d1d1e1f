"""What a roster and its appenders decide about partitions: nothing is filled, left out or forgotten unsaid."""

from __future__ import annotations

from sparkmirror.copy.appender import Appended
from sparkmirror.copy.cursor import State
from sparkmirror.copy.lease import CONTINUE, FENCE_STEP, NOTHING, Bounds, Errors, Rules
from sparkmirror.copy.place import Position
from sparkmirror.copy.receipt import GOES_ON, NOTED, STOPPED, WAITING
from sparkmirror.protocol import codes
from sparkmirror.protocol.produce import API_KEY, ProducedPartition
from tests.support.rosters import PLACE, A, B, appender_at, fetched, roster_of, settle


def test_a_hole_that_cannot_be_filled_is_seen_also_between_batches() -> None:
    for rules, why in ((Rules(fill_with=NOTHING), "permits no markers"), (Rules(max_hole=5), "max.hole")):
        roster, cursor = roster_of(rules)
        settle(roster, cursor)
        roster.take_fetched(cursor, fetched(0, 11), 0.0)
        assert cursor.state is State.LOST
        assert cursor.unequal.startswith("source offsets 1..10 are a hole") and why in cursor.unequal


def test_what_a_batch_may_grow_to_follows_the_task_s_memory() -> None:
    grown = {
        held: roster_of(Rules(bounds=Bounds(held_bytes=held)))[1].queue.most_open_bytes
        for held in (None, 1 << 20, 16 << 20, 1 << 30)
    }
    assert grown == {None: 128 << 20, 1 << 20: 32 << 20, 16 << 20: 64 << 20, 1 << 30: 128 << 20}


def test_every_record_that_is_left_out_is_said() -> None:
    roster, cursor = roster_of(Rules(on_gap=CONTINUE))
    settle(roster, cursor)
    cursor.queue.largest = cursor.queue.largest_record = 10
    roster.take_fetched(cursor, fetched(0, 1), 0.0)
    noted = [r.error for r in roster.book.take() if r.kind == NOTED]
    assert [text.partition(" takes")[0] for text in noted] == [
        f"record-too-large: the record at source offset {offset}" for offset in (0, 1)
    ]


def test_a_partition_that_waited_in_a_lost_brokers_line_is_served_by_the_next() -> None:
    roster, cursor = roster_of(Rules())
    first, second = appender_at(A), appender_at(B)
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 0.0)
    first[0].offer(cursor)
    roster.lose(cursor, "the broker died", 0.0)
    settle(roster, cursor, B)
    roster.take_fetched(cursor, fetched(0), 0.0)
    second[0].offer(cursor)
    second[0].send()
    first[0].send()
    assert (first[1].sent, second[1].sent) == ([], [API_KEY])


def test_a_hole_that_waited_when_its_partition_was_lost_is_not_filled_ahead_of_data() -> None:
    roster, cursor = roster_of(Rules())
    appender, channel = appender_at(A)
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(5), 0.0)  # the hole before it is at the head
    appender.paused_until = float("inf")
    appender._holes.append((cursor, cursor.term))
    roster.lose(cursor, "lost", 0.0)
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0, 5), 0.0)
    appender.paused_until = 0.0
    appender.offer(cursor)
    appender.send()
    assert channel.sent == [API_KEY]


def test_a_right_that_is_missing_stops_the_partition_with_its_offset() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(error=codes.TOPIC_AUTHORIZATION_FAILED), 0.0)
    (receipt,) = roster.book.take()
    assert receipt.error.startswith("unauthorized: User:ANONYMOUS has no READ on topic t of cluster A (TOPIC_AUTH")
    assert "from source offset 0 on; it goes on when that is granted: kafka-acls.sh" in receipt.error
    assert receipt.error.endswith("--add --allow-principal User:ANONYMOUS --operation Read --topic t")


def test_what_waits_for_long_is_said_once_and_so_is_its_end() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.lose(cursor, "the broker died", 1.0)
    roster.note_waiting(5.9, 5.0)
    assert roster.book.take() == [], "it may pass"
    for now in (6.0, 7.0):
        roster.note_waiting(now, 5.0)
    roster.lose(cursor, "there is no leader", 8.0)
    roster.note_waiting(8.5, 5.0)
    settle(roster, cursor, now=9.0)
    roster.note_waiting(20.0)
    settle(roster, cursor, now=21.0)
    for _ in range(2):
        roster.take_fetched(cursor, fetched(), 22.0)
    assert [(r.kind, r.error) for r in roster.book.take()] == [
        (WAITING, "the broker died"),
        (WAITING, "there is no leader"),
        (GOES_ON, ""),
    ]


def test_a_partition_that_stood_still_is_said_to_go_on_when_the_source_lets_it_and_not_when_it_is_found() -> None:
    for answers, said in (
        ([fetched()], [GOES_ON]),
        ([fetched(error=codes.TOPIC_AUTHORIZATION_FAILED)], [STOPPED]),
        ([fetched(error=codes.OFFSET_OUT_OF_RANGE)], []),
        ([fetched(0)], []),  # when it is acknowledged
    ):
        roster, cursor = roster_of(Rules(), troubled=True)
        settle(roster, cursor)
        assert roster.book.take() == []
        for answer in answers:
            roster.take_fetched(cursor, answer, 1.0)
        assert [receipt.kind for receipt in roster.book.take()] == said


def test_at_the_end_of_a_lease_all_that_waits_is_said() -> None:
    roster, cursor = roster_of(Rules())
    roster.note_waiting(0.0)
    assert roster.book.take() == [], "nobody has looked for it yet"
    roster.lose(cursor, "the broker died", 1.0)
    roster.note_waiting(1.0)
    assert [(r.kind, r.error) for r in roster.book.take()] == [(WAITING, "the broker died")]


def test_what_failed_long_ago_does_not_count_when_something_new_fails() -> None:
    roster, cursor = roster_of(Rules(errors=Errors(retry_timeout_s=30.0)))
    settle(roster, cursor)
    roster.lose(cursor, "the broker died", 1.0)
    settle(roster, cursor, now=2.0)
    roster.take_fetched(cursor, fetched(0), 60.0)
    roster.lose(cursor, "it died again", 60.5)
    assert (cursor.state, cursor.failing_s(61.0)) == (State.LOST, 0.5)


def test_a_partition_that_has_used_up_its_fences_waits_for_the_next_lease() -> None:
    roster, cursor = roster_of(Rules())
    for attempt in range(FENCE_STEP):
        settle(roster, cursor)
        assert cursor.fill_attempt == attempt
        cursor.is_filling = True
        roster.lose(cursor, "the answer to a marker was lost", 0.0)
    assert cursor.state is State.STOPPED and not roster.lost
    (said,) = roster.book.take()
    assert said.kind == WAITING and "next lease" in said.error


def test_holes_of_translated_offsets_are_counted_once_when_what_is_before_them_is_there() -> None:
    roster, cursor = roster_of(Rules())
    appender, _ = appender_at(A)
    here = Position(next_offset=0, target_next=0, last_sequence=-1, translated="why")
    holes = []
    for _ in range(2):
        roster.settle(cursor, PLACE, here, 0.0)
        roster.take_fetched(cursor, fetched(0, 5, 9), 0.0)
        holes += [receipt.holes for receipt in roster.book.take()]
        roster.lose(cursor, "the answer was lost", 0.0)
    assert holes == []
    roster.settle(cursor, PLACE, here, 0.0)
    roster.take_fetched(cursor, fetched(0, 5, 9), 0.0)
    for base in range(3):
        ready = cursor.queue.pop_batch()
        cursor.in_flight += 1
        roster.take_event(appender, Appended(cursor, ready, ProducedPartition("t", 0, 0, base, 0, None)), 0.0)
    assert [(r.source_first, r.records, r.holes) for r in roster.book.take()] == [(0, 1, 0), (5, 1, 4), (9, 1, 3)]


def test_records_that_bring_nothing_new_are_not_asked_for_at_once_again() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0), 1.0)
    roster.take_fetched(cursor, fetched(0), 2.0)
    assert cursor.state is State.LOST and cursor.retry_at > 2.0
    assert "nothing from offset 1 on" in cursor.reason
