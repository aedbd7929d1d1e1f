"""Offset syncs in MirrorMaker 2's bytes (OffsetSyncTest.testSerde; vectors of the real classes)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.offsets.offset_syncs import OffsetSync, encode_key, encode_value, parse_record

KEY, VALUE = encode_key("t", 1), encode_value(5, 7)

offsets = st.integers(-(2**63), 2**63 - 1)


def test_the_bytes_are_those_of_kafkas_own_class() -> None:
    assert encode_key("topic1", 2).hex() == "0006746f7069633100000002"
    assert encode_value(100, 200).hex() == "000000000000006400000000000000c8"


@given(st.text(max_size=50), st.integers(0, 2**31 - 1), offsets, offsets)
def test_what_was_written_is_read(topic: str, partition: int, upstream: int, downstream: int) -> None:
    read = parse_record(encode_key(topic, partition), encode_value(upstream, downstream))
    assert read == OffsetSync(topic, partition, upstream, downstream)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE),
        (KEY, None),
        (KEY[:-1], VALUE),
        (KEY, VALUE[:-1]),
        (b"\xff\xff" + KEY[2:], VALUE),
        (b"\0\1\xff" + KEY[3:], VALUE),
    ],
)
def test_what_is_no_offset_sync_is_none(key: bytes | None, value: bytes | None) -> None:
    assert parse_record(key, value) is None
