"""A cursor queues what passes, expects each answer at its offset and forgets all when it is lost."""

from __future__ import annotations

import struct

import pytest

from sparkmirror.batch.header import read_header
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.lease import Hint, LeasePartition
from sparkmirror.copy.position import Position
from sparkmirror.errors import MirrorError, ProtocolError
from sparkmirror.protocol.fetch import FetchedPartition
from tests.support.batches import simple_batch


def fetched(*batches: bytearray) -> FetchedPartition:
    return FetchedPartition("t", 0, 0, 1000, 1000, 0, (), -1, memoryview(bytearray(b"".join(batches))))


def cursor_at(offset: int, stop_at: int | None = None) -> Cursor:
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="A.t", stop_at=stop_at), 4711)
    cursor.settle(Position(offset, offset & 0x7FFFFFFF))
    return cursor


def test_batches_are_queued_with_consecutive_sequences() -> None:
    cursor = cursor_at(10)
    cursor.take_fetched(fetched(simple_batch(10, 3), simple_batch(13, 2)))
    assert [(r.header.first, r.sequence, r.last_sequence) for r in cursor.queue] == [(10, 10, 12), (13, 13, 14)]
    assert (cursor.fetch_offset, cursor.sequence) == (15, 15)
    assert [read_header(r.batch).producer_id for r in cursor.queue] == [4711, 4711]


def test_batches_before_the_position_are_passed_over() -> None:
    cursor = cursor_at(13)
    cursor.take_fetched(fetched(simple_batch(10, 3), simple_batch(13, 2)))
    assert [r.header.first for r in cursor.queue] == [13]


def test_what_stands_before_a_hole_is_still_queued() -> None:
    cursor = cursor_at(0)
    with pytest.raises(MirrorError):
        cursor.take_fetched(fetched(simple_batch(0, 2), simple_batch(5, 2)))
    assert [r.header.first for r in cursor.queue] == [0]


def test_a_batch_with_a_wrong_crc_is_refused() -> None:
    broken = simple_batch(0, 2)
    broken[-1] ^= 1
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError):
        cursor.take_fetched(fetched(broken))
    assert not cursor.queue


def test_an_answer_at_another_offset_is_a_divergence() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    with pytest.raises(MirrorError) as caught:
        cursor.take_answer(cursor.queue.popleft(), 1)
    assert caught.value.name == "diverged"


def test_an_answer_becomes_the_hint_for_the_next_lease() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    cursor.take_answer(cursor.queue.popleft(), 0)
    assert cursor.hint == Hint(2, 1, 2)
    assert cursor.held_bytes == 0


def test_a_lost_cursor_forgets_its_queue_and_ignores_earlier_answers() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    ready = cursor.queue[0]
    cursor.lose("connection lost", now=0.0)
    assert cursor.state is State.LOST and not cursor.queue and cursor.held_bytes == 0
    assert ready.term != cursor.term


def test_pauses_between_tries_grow_to_a_bound_and_start_again_after_success() -> None:
    cursor = cursor_at(0)
    pauses = []
    for _ in range(8):
        cursor.lose("no", now=0.0)
        pauses.append(cursor.retry_at)
    assert pauses == sorted(pauses) and pauses[-1] == 1.0
    cursor.settle(Position(0, 0))
    cursor.take_fetched(fetched(simple_batch(0, 1)))
    cursor.take_answer(cursor.queue.popleft(), 0)
    cursor.lose("no", now=0.0)
    assert cursor.retry_at == pauses[0]


def test_a_cursor_with_an_end_takes_nothing_beyond_it_and_is_done_there() -> None:
    cursor = cursor_at(0, stop_at=2)
    cursor.take_fetched(fetched(simple_batch(0, 2), simple_batch(2, 2)))
    assert [r.header.first for r in cursor.queue] == [0]
    cursor.take_answer(cursor.queue.popleft(), 0)
    assert cursor.state is State.DONE


def test_sequences_wrap_to_zero_after_the_largest() -> None:
    first = 2**31 - 2
    cursor = cursor_at(first)
    cursor.take_fetched(fetched(simple_batch(first, 3), simple_batch(first + 3, 1)))
    assert [r.sequence for r in cursor.queue] == [first, 1]
    assert struct.unpack_from(">i", cursor.queue[1].batch, 53)[0] == 1
