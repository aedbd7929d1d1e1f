"""Checkpoints in MirrorMaker 2's bytes (CheckpointTest.testSerde; vectors of the real classes)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.offsets.checkpoints import Checkpoint, encode_key, encode_value, parse_record

KEY, VALUE = encode_key("g", "a.t", 1), encode_value(5, 7, "m")

words = st.text(max_size=50)
offsets = st.integers(0, 2**63 - 1)


def test_the_bytes_are_those_of_kafkas_own_class() -> None:
    assert encode_key("group-1", "a.topic1", 2).hex() == "000767726f75702d310008612e746f7069633100000002"
    assert encode_value(150, 201, "m").hex() == "0000000000000000009600000000000000c900016d"


@given(words, words, st.integers(0, 2**31 - 1), offsets, offsets, words)
def test_what_was_written_is_read(
    group: str, topic: str, partition: int, upstream: int, downstream: int, metadata: str
) -> None:
    read = parse_record(encode_key(group, topic, partition), encode_value(upstream, downstream, metadata))
    assert read == Checkpoint(group, topic, partition, upstream, downstream, metadata)


def test_bytes_behind_the_fields_are_passed_over() -> None:
    assert parse_record(KEY + b"x", VALUE + b"y") == Checkpoint("g", "a.t", 1, 5, 7, "m")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE),
        (KEY, None),
        (KEY[:-1], VALUE),
        (KEY, VALUE[:-1]),
        (KEY, VALUE[:18]),
        (KEY, VALUE[:18] + b"\xff\xff"),
        (KEY, b"\0\1" + VALUE[2:]),
        (b"\xff\xff" + KEY[2:], VALUE),
        (b"\0\1\xff" + KEY[3:], VALUE),
        (KEY, encode_value(5, -1)),
    ],
)
def test_what_is_no_checkpoint_is_none(key: bytes | None, value: bytes | None) -> None:
    assert parse_record(key, value) is None
