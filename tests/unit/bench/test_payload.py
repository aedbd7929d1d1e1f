"""Batches as a producer would send them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from kafka.record.memory_records import MemoryRecords

from bench.payload import build_batch, burst_rounds, lz4_rounds, random_value, small_rounds, text_value
from bench.sizes import PARTITIONS, RECORD_BYTES
from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, split_batches
from sparkmirror.protocol.wire import encode_varint


@pytest.mark.parametrize(("value", "encoded"), [(0, b"\0"), (-1, b"\1"), (1, b"\2"), (64, b"\x80\1"), (-65, b"\x81\1")])
def test_varint(value: int, encoded: bytes) -> None:
    assert encode_varint(value) == encoded


def test_batch_is_read_back_by_another_library() -> None:
    values = [random_value(random.Random(n)) for n in range(10)]
    batch = build_batch(values, timestamp_ms=1_700_000_000_000)
    found = MemoryRecords(batch.data).next_batch()
    assert found.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in found] == [
        (n, 1_700_000_000_000, None, value) for n, value in enumerate(values)
    ]


def test_lz4_batch_is_one_frame_of_independent_blocks() -> None:
    values = [text_value(random.Random(n)) for n in range(64)]
    plain, packed = (build_batch(values, timestamp_ms=0, lz4=lz4).data[HEADER_BYTES:] for lz4 in (False, True))
    assert packed[:4] == bytes.fromhex("04224d18")
    assert packed[4] & 0x20  # Kafka refuses blocks that depend on others
    assert pa.Codec("lz4").decompress(packed, decompressed_size=len(plain), asbytes=True) == plain


def test_burst_fills_batches_of_64_kb() -> None:
    for batches in burst_rounds():
        assert len(batches) == PARTITIONS
        assert all(batch.records == 64 and 64_000 < len(batch.data) < 65_536 for batch in batches)


def test_text_compresses_two_to_one_or_better() -> None:
    sizes = [len(batch.data) for batches in lz4_rounds() for batch in batches]
    assert sum(sizes) / len(sizes) < 64 * RECORD_BYTES / 2


def test_small_batches_have_one_to_ten_records() -> None:
    counts = {batch.records for batches in small_rounds() for batch in batches}
    assert counts == set(range(1, 11))


def test_headers_are_valid() -> None:
    for batch in (batches[0] for batches in small_rounds()[:20]):
        ((header, data),) = split_batches(memoryview(batch.data))
        assert header.end == batch.records and header.producer_id == -1
        assert has_valid_crc(data)
