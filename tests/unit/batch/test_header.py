"""The header is read and patched where the wire format says; the records stay as they are."""

from __future__ import annotations

import struct

import pytest
from kafka.record.memory_records import MemoryRecords

from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, patch_batch, read_header, split_batches
from sparkmirror.errors import ProtocolError
from tests.support.batches import simple_batch


def test_header_fields_are_those_that_an_independent_encoder_wrote() -> None:
    header = read_header(memoryview(simple_batch(100, 5)))
    assert (header.first, header.end, header.records, header.magic) == (100, 105, 5, 2)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_000_004)
    assert (header.producer_id, header.producer_epoch, header.sequence) == (-1, -1, -1)
    assert not (header.is_control or header.is_transactional or header.is_log_append_time)


def test_patched_batch_is_valid_and_carries_our_producer() -> None:
    batch = memoryview(simple_batch(100, 5))
    before = bytes(batch[HEADER_BYTES:])
    patch_batch(batch, read_header(batch).attributes, 4711, 0, 2**31 - 3)
    header = read_header(batch)
    assert (header.first, header.producer_id, header.producer_epoch, header.sequence) == (0, 4711, 0, 2**31 - 3)
    assert header.last_sequence == 1, "sequence numbers wrap to 0 after 2^31 - 1"
    assert has_valid_crc(batch)
    assert bytes(batch[HEADER_BYTES:]) == before
    decoded = MemoryRecords(bytes(batch)).next_batch()
    assert decoded.validate_crc()
    assert [r.value for r in decoded] == [b"v%d" % i for i in range(5)]


def test_patching_drops_what_is_the_sources_own_and_keeps_the_codec() -> None:
    batch = memoryview(simple_batch(0, 1))
    struct.pack_into(">h", batch, 21, 0x10 | 0x40 | 0x04)
    patch_batch(batch, read_header(batch).attributes, 1, 0, 0)
    header = read_header(batch)
    assert header.attributes == 4, "neither transactional nor with the delete horizon of the source's cleaner"


def test_a_flipped_byte_is_seen() -> None:
    batch = simple_batch(0, 3)
    batch[70] ^= 1
    assert not has_valid_crc(memoryview(batch))


def test_a_fetch_is_split_into_whole_batches_and_the_cut_one_is_left_out() -> None:
    one, two, three = simple_batch(0, 2), simple_batch(2, 3), simple_batch(5, 1)
    records = memoryview(one + two + three[:-1])
    found = [(h.first, h.end, len(b)) for h, b in split_batches(records)]
    assert found == [(0, 2, len(one)), (2, 5, len(two))]


def test_every_cut_of_a_fetch_gives_whole_batches_or_nothing() -> None:
    whole = simple_batch(0, 2) + simple_batch(2, 1)
    first = len(simple_batch(0, 2))
    for cut in range(len(whole) + 1):
        expected = (cut >= first) + (cut == len(whole))
        assert len(list(split_batches(memoryview(whole)[:cut]))) == expected


@pytest.mark.parametrize("length", [-1, 0, 13, -(2**31)])
def test_an_impossible_length_is_a_protocol_error(length: int) -> None:
    batch = simple_batch(0, 1)
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(ProtocolError):
        list(split_batches(memoryview(batch)))


def test_a_negative_record_count_is_a_protocol_error() -> None:
    batch = simple_batch(0, 1)
    struct.pack_into(">i", batch, 57, -5)
    with pytest.raises(ProtocolError):
        read_header(memoryview(batch))
