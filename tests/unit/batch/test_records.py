"""Batches that other programs wrote, of every format and codec, record by record."""

from __future__ import annotations

import pytest

from sparkmirror.batch.header import split_batches
from sparkmirror.batch.records import KeyedRecord, read_keyed_records
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
