"""Memory of what was fetched: counted while it lives, moved out of large buffers, given back to be fetched again."""

from __future__ import annotations

import numpy as np

from sparkmirror.copy.held import OLD_S, Held
from sparkmirror.copy.lease import Rules
from sparkmirror.copy.queue import Hole, Ready
from sparkmirror.protocol.fetch import FetchedPartition
from tests.support.batches import encode_batch
from tests.support.rosters import A, appender_at, fetched, roster_of, settle


def large_batch() -> FetchedPartition:
    """Such that it passes: a slice of the answer."""
    batch = encode_batch([(None, bytes(300_000), 1_700_000_000_000)], first=0)
    return FetchedPartition("t", 0, 0, 1, 1, 0, (), -1, np.frombuffer(batch, np.uint8).data)


def test_a_buffer_counts_once_and_until_its_last_slice_is_gone() -> None:
    held = Held()
    frame = np.zeros(1000, np.uint8).data
    slices = [held.hold(frame[first : first + 100]) for first in range(0, 1000, 100)]
    del frame
    assert held.bytes == 1000
    del slices[1:]
    assert held.bytes == 1000, "one slice keeps all of it"
    slices[0] = held.move(slices[0])
    assert held.bytes == 100
    slices.clear()
    assert held.bytes == 0


def test_buffers_that_nothing_tells_the_end_of_count_as_well() -> None:
    held = Held()
    batch = held.hold(memoryview(bytearray(300)))
    assert held.bytes == 300 and len(batch) == 300
    del batch
    assert held.bytes == 0


def test_only_old_buffers_that_are_mostly_free_are_sparse() -> None:
    held = Held()
    arrays = [np.zeros(1000, np.uint8) for _ in range(2)]
    batches = [held.hold(array.data[:100]) for array in arrays]
    used = {id(arrays[0]): 100, id(arrays[1]): 500}
    since = held._buffers[id(arrays[0])].since
    assert held.find_sparse(used, since + OLD_S) == set()
    assert held.find_sparse(used, since + 2 * OLD_S) == {id(arrays[0])}
    assert len(batches) == 2


def test_a_batch_is_let_go_when_it_is_sent() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, large_batch(), 0.0)
    assert isinstance(cursor.queue.head, Ready) and not cursor.queue.head.rebuilt
    assert roster.held.bytes == cursor.held_bytes > 256 << 10
    appender, _ = appender_at(A)
    appender.offer(cursor)
    appender.send()
    assert cursor.in_flight == 1
    assert (roster.held.bytes, cursor.held_bytes) == (0, 0)


def test_what_is_given_back_is_fetched_again_with_the_same_sequences() -> None:
    roster, cursor = roster_of(Rules())
    settle(roster, cursor)
    roster.take_fetched(cursor, fetched(0, 5, 6), 0.0)
    appender, _ = appender_at(A)
    appender.offer(cursor)
    appender.send()
    sequences = [item.sequence for item in cursor.queue._items if isinstance(item, Ready)]
    assert isinstance(cursor.queue.head, Hole) and sequences == [1]
    roster.give_back(cursor)
    assert cursor.queue.head == Hole(1, 5), "it may be half filled"
    assert (cursor.fetch_offset, cursor.held_bytes, roster.held_records) == (5, 0, 1)
    roster.take_fetched(cursor, fetched(5, 6), 0.0)
    assert [item.sequence for item in cursor.queue._items if isinstance(item, Ready)] == sequences
