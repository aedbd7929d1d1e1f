"""A cursor queues batches and holes, expects each answer at its offset and forgets all when it is lost."""

from __future__ import annotations

import struct

import pytest
from awscrt.checksums import crc32c

from sparkmirror.batch.codec import GZIP
from sparkmirror.batch.header import read_header
from sparkmirror.batch.legacy import LegacyRecord
from sparkmirror.batch.scan import FEW_RECORDS, SMALL_BYTES
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.queue import Hole, Ready
from sparkmirror.errors import MirrorError, ProtocolError
from sparkmirror.net.cluster import NO_TOPIC_ID, TopicInfo
from sparkmirror.protocol.fetch import FetchedPartition
from sparkmirror.topology.standing import Standing
from tests.support.batches import assemble_batch, encode_batch, simple_batch
from tests.support.message_sets import encode_message, encode_wrapper

TOPIC = TopicInfo("t", NO_TOPIC_ID, {}, 0, False)
PLACE = Place(0, TOPIC, TOPIC)


def fetched(*batches: bytearray) -> FetchedPartition:
    return FetchedPartition("t", 0, 0, 1000, 1000, 0, (), -1, memoryview(bytearray(b"".join(batches))))


def cursor_at(offset: int, *, stop_at: int | None = None, translated: str = "", shift: int = 0) -> Cursor:
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="A.t", stop_at=stop_at), 4711)
    position = Position(next_offset=offset, target_next=offset + shift, last_sequence=offset - 1, translated=translated)
    cursor.settle(PLACE, position, 0.0)
    return cursor


def drain(cursor: Cursor) -> list[Ready | Hole]:
    """Everything that waits, as an appender takes it."""
    items: list[Ready | Hole] = []
    while cursor.queue:
        head = cursor.queue.head
        if isinstance(head, Hole):
            items.append(head)
            cursor.queue.fill(head.end - head.first)
        else:
            items.append(cursor.queue.pop_batch())
    return items


def large_batch(first: int) -> bytearray:
    """Of too many records to be merged with its neighbours."""
    return simple_batch(first, 4 * FEW_RECORDS)


def heavy_batch(first: int, size: int) -> bytearray:
    """Of one record."""
    return encode_batch([(None, bytes(size), 1_700_000_000_000)], first=first)


def append(cursor: Cursor, base_offset: int) -> None:
    cursor.in_flight += 1
    cursor.take_answer(cursor.queue.pop_batch(), base_offset)


def test_small_batches_become_one_with_our_producer_and_sequence() -> None:
    cursor = cursor_at(10)
    cursor.take_fetched(fetched(simple_batch(10, 3), simple_batch(13, 2)))
    (ready,) = drain(cursor)
    assert isinstance(ready, Ready)
    assert (ready.first, ready.end, ready.sequence, ready.last_sequence, ready.rebuilt) == (10, 15, 10, 14, True)
    header = read_header(ready.batch)
    assert (header.producer_id, header.sequence, header.records, header.last_delta) == (4711, 10, 5, 4)
    assert cursor.fetch_offset == 15


def test_a_large_batch_passes_as_it_is() -> None:
    cursor = cursor_at(0)
    source = large_batch(0)
    cursor.take_fetched(fetched(source, simple_batch(4000, 1)))
    passed, small = drain(cursor)
    assert isinstance(passed, Ready) and not passed.rebuilt
    assert passed.batch[61:] == source[61:]
    assert isinstance(small, Ready) and (small.first, small.rebuilt) == (4000, False)


def test_batches_of_some_hundred_kilobytes_become_one_up_to_what_a_topic_takes() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(*(heavy_batch(i, 200 << 10) for i in range(6))))
    assert [(item.first, item.end) for item in drain(cursor)] == [(0, 4), (4, 6)]
    cursor.queue.largest = 450 << 10
    cursor.take_fetched(fetched(*(heavy_batch(i, 200 << 10) for i in range(6, 11))))
    assert [(item.first, item.end) for item in drain(cursor)] == [(6, 8), (8, 10), (10, 11)]


def test_batches_of_more_bytes_pass_as_they_are() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(heavy_batch(0, SMALL_BYTES), heavy_batch(1, SMALL_BYTES)))
    assert [item.rebuilt for item in drain(cursor) if isinstance(item, Ready)] == [False, False]


@pytest.mark.parametrize("size", [1, 5_000], ids=["many small ones", "large ones"])
@pytest.mark.parametrize("damaged", [0, 2])
def test_a_damaged_one_of_several_that_would_be_merged_is_named(size: int, damaged: int) -> None:
    batches = [heavy_batch(first, size) for first in range(3)]
    batches[damaged][-1] ^= 0x01
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError, match=f"at offset {damaged} arrived with a wrong CRC"):
        cursor.take_fetched(fetched(*batches))
    assert [item.first for item in drain(cursor)] == list(range(damaged)), "what comes before it is copied"


def test_what_stands_before_a_batch_whose_header_is_nonsense_is_copied() -> None:
    bad = simple_batch(2, 1)
    bad[57:61] = b"\xff\xff\xff\xff"  # how many records it has
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError, match="contradicts itself"):
        cursor.take_fetched(fetched(simple_batch(0, 1), simple_batch(1, 1), bad, simple_batch(3, 1)))
    assert [(item.first, item.end) for item in drain(cursor)] == [(0, 2)]


def test_a_batch_that_says_it_has_more_records_than_bytes_is_refused_before_memory_is_made_for_them() -> None:
    said = assemble_batch(bytes(100), first=0, count=1 << 26, base_timestamp=0, max_timestamp=0)
    cursor = cursor_at(1)
    with pytest.raises(ProtocolError, match="more records than its bytes can hold"):
        cursor.take_fetched(fetched(bytearray(said)))


def test_batches_that_grow_too_much_when_decompressed_are_rewritten_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.batch.build.MOST_TOGETHER_BYTES", 10_000)
    tiny = [encode_batch([(None, bytes(6000), 1_700_000_000_000)], first=first, codec=GZIP) for first in range(3)]
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(*tiny))
    assert [(item.first, item.end) for item in drain(cursor)] == [(0, 1), (1, 2), (2, 3)]


def test_what_grows_much_is_opened_bit_by_bit_and_the_rest_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one fetch of a few KB holds up all partitions of a task while it is opened."""
    monkeypatch.setattr("sparkmirror.copy.queue.MOST_OPENED_BYTES", 100_000)
    monkeypatch.setattr("sparkmirror.copy.queue.MERGE_BYTES", 200)
    append_time = 0x08 | GZIP
    batches = [encode_batch([(b"%d" % n, bytes(60_000), 1)], first=n, codec=GZIP) for n in range(8)]
    for batch in batches:
        struct.pack_into(">h", batch, 21, append_time)
        struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    cursor, taken = cursor_at(0), []
    for _ in range(8):
        cursor.take_fetched(fetched(*batches[cursor.fetch_offset :]))
        taken.append(cursor.fetch_offset)
    assert taken[0] == 2 and taken[3] == 8, "never nothing, and never all at once"
    assert [(item.first, item.end) for item in drain(cursor)] == [(n, n + 1) for n in range(8)]


def test_old_messages_are_opened_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.copy.queue.MOST_OPENED_BYTES", 8 * 100_000)
    monkeypatch.setattr("sparkmirror.copy.queue.LEGACY_BYTES", 1)
    packed = [encode_wrapper([LegacyRecord(n, 1, None, bytes(60_000))], 1, GZIP) for n in range(6)]
    cursor, taken = cursor_at(0), []
    for _ in range(4):
        cursor.take_fetched(fetched(*(bytearray(each) for each in packed[cursor.fetch_offset :])))
        taken.append(cursor.fetch_offset)
    assert taken == [2, 4, 6, 6]
    assert [(item.first, item.end) for item in drain(cursor)] == [(n, n + 1) for n in range(6)]


def test_old_messages_out_of_order_are_refused_also_where_they_are_opened_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sparkmirror.copy.queue.LEGACY_BYTES", 1)
    cursor = cursor_at(0)
    messages = [bytearray(encode_message(LegacyRecord(n, 1, None, b"x"), 1)) for n in (0, 1, 2, 1, 5)]
    with pytest.raises(ProtocolError, match="offset 1 stands after 2"):
        cursor.take_fetched(fetched(*messages))


def test_a_batch_behind_the_high_watermark_makes_no_hole() -> None:
    """No checksum covers where a batch begins: what is wrong there must not pass over records."""
    cursor = cursor_at(0, translated="why", shift=100)
    far = simple_batch(0, 2)
    far[:8] = (10**12).to_bytes(8, "big")
    with pytest.raises(ProtocolError, match="behind the high watermark"):
        cursor.take_fetched(fetched(simple_batch(0, 2), far))
    assert [(item.first, item.end) for item in drain(cursor)] == [(0, 2)]
    assert cursor.queue.position == 2


def test_batches_in_the_wrong_order_are_not_copied_in_part() -> None:
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError, match="before the batch in front of it ends"):
        cursor.take_fetched(fetched(simple_batch(10, 5), simple_batch(0, 10)))
    assert not drain(cursor) and cursor.queue.position == 0


def test_a_marker_that_says_it_is_many_is_refused() -> None:
    marker = simple_batch(0, 3)
    marker[21:23] = (0x30).to_bytes(2, "big")
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError, match="marker that can't be read"):
        cursor.take_fetched(fetched(marker))


def test_old_messages_become_batches_that_the_target_takes() -> None:
    old = [encode_message(LegacyRecord(i, 1_700_000_000_000, None, bytes(100_000)), 1) for i in range(12)]
    cursor = cursor_at(0)
    cursor.queue.largest = 250_000
    cursor.take_fetched(fetched(*map(bytearray, old)))
    assert [(item.first, item.end) for item in drain(cursor)] == [(i, i + 2) for i in range(0, 12, 2)]


def test_a_position_inside_a_batch_leaves_its_first_records_out() -> None:
    cursor = cursor_at(12)
    cursor.take_fetched(fetched(simple_batch(10, 5)))
    (ready,) = drain(cursor)
    assert isinstance(ready, Ready) and (ready.first, ready.end) == (12, 15)


def test_missing_offsets_are_a_hole_between_batches() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2), simple_batch(5, 2)))
    assert [(type(i).__name__, i.first, i.end) for i in drain(cursor)] == [
        ("Ready", 0, 2),
        ("Hole", 2, 5),
        ("Ready", 5, 7),
    ]


def test_translated_offsets_need_no_hole() -> None:
    cursor = cursor_at(0, translated="why", shift=100)
    cursor.take_fetched(fetched(simple_batch(0, 2), simple_batch(5, 2)))
    append(cursor, 100)
    append(cursor, 102)
    assert cursor.hint == Standing(7, 3, 104, 0, 0, "why")


def test_a_filled_hole_moves_both_logs() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(3, 2)))
    cursor.in_flight = 1
    cursor.take_filled(1)
    assert cursor.queue.head == Hole(1, 3)
    cursor.in_flight = 1
    cursor.take_filled(2)
    assert (cursor.source_next, cursor.target_next) == (3, 3)
    append(cursor, 3)
    assert cursor.hint == Standing(5, 1, 5, 0)


def test_a_fill_whose_answer_is_lost_is_fenced_off_before_the_next() -> None:
    cursor = cursor_at(0)
    cursor.is_fenced = cursor.is_filling = True
    cursor.lose("connection lost", now=0.0)
    assert (cursor.is_fenced, cursor.fill_attempt) == (False, 1)


def test_a_batch_with_a_wrong_crc_is_refused_and_what_stands_before_it_is_queued() -> None:
    broken = simple_batch(4000, 2)
    broken[-1] ^= 1
    cursor = cursor_at(0)
    with pytest.raises(ProtocolError):
        cursor.take_fetched(fetched(large_batch(0), broken))
    assert [item.end for item in drain(cursor)] == [4000]


def test_an_answer_at_a_later_offset_shows_a_foreign_writer() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    with pytest.raises(MirrorError) as caught:
        append(cursor, 1)
    assert caught.value.name == "foreign-writer"


def test_an_answer_becomes_the_hint_for_the_next_lease() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    append(cursor, 0)
    assert cursor.hint == Standing(2, 1, 2, 0)
    assert cursor.held_bytes == 0


def merged_cursor() -> Cursor:
    """One of several origins of its target partition, where two records were copied."""
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="m", onto=0, producer_id=7), 4711)
    assert (cursor.left, cursor.is_as_left) == (None, False)
    cursor.settle(PLACE, Position(next_offset=0, target_next=0, last_sequence=-1, translated="merged"), 0.0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    append(cursor, 10)
    return cursor


def test_a_merged_partition_is_left_as_it_is_told_unless_something_sent_was_not_answered() -> None:
    cursor = merged_cursor()
    assert (cursor.left, cursor.is_as_left) == (Standing(2, 1, 12, 0, translated="merged"), True)
    cursor.lose("the source has another leader", 0.0)
    assert (cursor.left, cursor.is_as_left) == (None, True)
    cursor = merged_cursor()
    cursor.in_flight = 1
    cursor.lose("its connection is lost", 0.0)
    cursor.settle(PLACE, Position(next_offset=2, target_next=12, last_sequence=1, translated="merged"), 0.0)
    assert (cursor.left, cursor.is_as_left) == (None, False), "what was sent may still be written"
    cursor = merged_cursor()
    cursor.take_fetched(fetched(simple_batch(2, 2)))
    with pytest.raises(MirrorError):
        append(cursor, 5)
    cursor.stop()
    assert (cursor.left, cursor.is_as_left) == (None, False), "it was written where nobody expected it"


def test_what_waits_when_a_lease_ends_is_not_counted_as_copied() -> None:
    cursor = cursor_at(0, translated="why")
    cursor.take_fetched(fetched(large_batch(0), large_batch(4000)))
    cursor.in_flight += 1
    ready = cursor.queue.pop_batch()
    cursor.queue.hold()
    cursor.take_answer(ready, 0)
    assert cursor.hint is not None and cursor.hint.next_offset == 4000


def test_a_lost_cursor_forgets_its_queue_and_ignores_earlier_answers() -> None:
    cursor = cursor_at(0)
    cursor.take_fetched(fetched(simple_batch(0, 2)))
    ready = cursor.queue.head
    cursor.lose("connection lost", now=0.0)
    assert cursor.state is State.LOST and not cursor.queue and cursor.held_bytes == 0
    assert isinstance(ready, Ready) and ready.term != cursor.term


def test_pauses_between_tries_grow_to_a_bound_and_start_again_after_success() -> None:
    cursor = cursor_at(0)
    pauses = []
    for _ in range(8):
        cursor.lose("no", now=0.0)
        pauses.append(cursor.retry_at)
    assert pauses == sorted(pauses) and pauses[-1] == 1.0
    cursor.settle(PLACE, Position(next_offset=0, target_next=0, last_sequence=-1), 0.0)
    cursor.take_fetched(fetched(simple_batch(0, 1)))
    append(cursor, 0)
    cursor.lose("no", now=0.0)
    assert cursor.retry_at == pauses[0]


def test_a_cursor_with_an_end_takes_nothing_beyond_it_and_is_done_there() -> None:
    cursor = cursor_at(0, stop_at=3)
    cursor.take_fetched(fetched(simple_batch(0, 2), simple_batch(2, 2)))
    append(cursor, 0)
    assert cursor.state is State.DONE
    assert cursor.hint is not None and cursor.hint.next_offset == 3


def test_a_lease_leaves_where_its_partition_stands_but_not_what_it_was_told_nor_what_is_looked_for_anew() -> None:
    """Another standing may be noted meanwhile."""
    never_found = Cursor(LeasePartition(topic="t", partition=0, remote="A.t", hint=Standing(7, 6, 7)), 4711)
    copying, stopped, lost, lost_and_stopped = (cursor_at(3) for _ in range(4))
    for cursor in (lost, lost_and_stopped):
        cursor.lose("no", now=0.0)
    for cursor in (never_found, stopped, lost_and_stopped):
        cursor.stop()
    assert [cursor.left for cursor in (never_found, lost, lost_and_stopped)] == [None] * 3
    assert [cursor.left for cursor in (copying, stopped)] == [Standing(3, 2, 3)] * 2


def test_sequences_wrap_to_zero_after_the_largest() -> None:
    first = 2**31 - 2
    cursor = cursor_at(first)
    cursor.take_fetched(fetched(large_batch(first), simple_batch(first + 4000, 1)))
    one, two = drain(cursor)
    assert isinstance(one, Ready) and isinstance(two, Ready)
    assert (one.sequence, one.last_sequence, two.sequence) == (first, 3997, 3998)
    assert struct.unpack_from(">i", two.batch, 53)[0] == 3998
