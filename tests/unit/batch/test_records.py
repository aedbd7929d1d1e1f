"""Batches that other programs wrote, of every format and codec, record by record."""

from __future__ import annotations

import pytest
from kafka.record.memory_records import MemoryRecordsBuilder

from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, split_batches
from sparkmirror.batch.records import KeyedRecord, encode_keyed_batches, read_keyed_records
from sparkmirror.errors import ProtocolError
from tests.support.batches import simple_batch
from tests.support.golden import BATCHES, few_records, golden_batch, many_records

NAMES = sorted(path.stem for path in BATCHES.glob("*.bin"))


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_values_are_read_whatever_the_format_and_codec(name: str) -> None:
    found = [r for header, batch in split_batches(golden_batch(name)) for r in read_keyed_records(header, batch)]
    expected = many_records() if "many" in name else few_records()
    assert [(r.key, r.value) for r in found] == [(r.key, r.value) for r in expected]


def test_offsets_and_timestamps_are_those_of_the_records() -> None:
    found = [
        r for header, batch in split_batches(golden_batch("v2-zstd-few")) for r in read_keyed_records(header, batch)
    ]
    assert found == [KeyedRecord(*record[:4]) for record in few_records()]


@pytest.mark.parametrize("size", [b"\x05", b"\x7e"])
def test_a_field_that_goes_past_its_record_is_refused(size: bytes) -> None:
    batch = bytes(simple_batch(0, 1))
    at = batch.rindex(b"v0") - 1
    ((header, broken),) = split_batches(memoryview(batch[:at] + size + batch[at + 1 :]))
    with pytest.raises(ProtocolError):
        read_keyed_records(header, broken)


def test_encoded_batches_are_those_of_another_encoder() -> None:
    """kafka-python's, byte by byte; and they are cut where they become too large."""
    records: list[tuple[bytes, bytes | None]] = [(b"k%d" % i, None if i % 7 == 0 else b"v" * i) for i in range(300)]
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    for key, value in records:
        builder.append(1_700_000_000_000, key, value)
    builder.close()
    (whole,) = encode_keyed_batches(records, 1_700_000_000_000, 1 << 20)
    theirs = bytes(builder.buffer())
    assert (whole[:12], whole[16:]) == (theirs[:12], theirs[16:]), "but for the leader epoch, which is Java's -1"

    parts = list(encode_keyed_batches([*records, (b"large", b"x" * 5000)], 1_700_000_000_000, 1000))
    assert len(parts) > 40 and max(map(len, parts[:-1])) <= 1000 + HEADER_BYTES and len(parts[-1]) > 5000
    found = []
    for part in parts:
        ((header, batch),) = split_batches(memoryview(part))
        assert has_valid_crc(batch)
        found += [(r.key, r.value) for r in read_keyed_records(header, batch)]
    assert found == [*records, (b"large", b"x" * 5000)]
    assert list(encode_keyed_batches([], 0, 1000)) == []
