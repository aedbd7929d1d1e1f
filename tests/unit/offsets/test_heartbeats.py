"""Heartbeats in MirrorMaker 2's bytes (HeartbeatTest.testSerde; vectors of the real classes)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.offsets.heartbeats import HeartbeatRecord, encode_key, encode_value, parse_record


def test_the_bytes_are_those_of_kafkas_own_class() -> None:
    assert encode_key("a", "b").hex() == "000161000162"
    assert encode_value(1_700_000_000_000).hex() == "00000000018bcfe56800"


@given(st.text(max_size=50), st.text(max_size=50), st.integers(-(2**63), 2**63 - 1))
def test_what_was_written_is_read(source: str, target: str, timestamp_ms: int) -> None:
    read = parse_record(encode_key(source, target), encode_value(timestamp_ms))
    assert read == HeartbeatRecord(source, target, timestamp_ms)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, encode_value(1)),
        (encode_key("a", "b"), None),
        (encode_key("a", "b")[:-1], encode_value(1)),
        (encode_key("a", "b"), encode_value(1)[:-1]),
        (encode_key("a", "b"), b"\0\1" + encode_value(1)[2:]),
        (b"\xff\xff\0\0", encode_value(1)),
    ],
)
def test_what_is_no_heartbeat_is_none(key: bytes | None, value: bytes | None) -> None:
    assert parse_record(key, value) is None
