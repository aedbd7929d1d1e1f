"""Message formats 0 and 1: what a plain encoder wrote is read, and nothing else."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.batch.codec import GZIP, LZ4, SNAPPY, ZSTD, compress
from sparkmirror.batch.legacy import LegacyRecord, read_legacy_records
from sparkmirror.errors import ProtocolError
from tests.support.message_sets import encode_message, encode_messages, encode_wrapper

magics = st.sampled_from((0, 1))
codecs = st.sampled_from((GZIP, SNAPPY, LZ4))
payloads = st.none() | st.binary(max_size=40)


@st.composite
def records(draw: Any, first: int = 0) -> list[LegacyRecord]:
    """Increasing offsets with holes, as compaction leaves them."""
    offset = first + draw(st.integers(0, 2**40))
    found = []
    for step in draw(st.lists(st.integers(1, 5), min_size=1, max_size=8)):
        found.append(LegacyRecord(offset, draw(st.integers(-1, 2**50)), draw(payloads), draw(payloads)))
        offset += step
    return found


def as_read(written: list[LegacyRecord], magic: int) -> list[LegacyRecord]:
    return [r._replace(timestamp=-1) for r in written] if magic == 0 else written


@given(magics, records())
def test_plain_messages_are_read(magic: int, written: list[LegacyRecord]) -> None:
    assert read_legacy_records(encode_messages(written, magic)) == as_read(written, magic)


@given(magics, codecs, records())
def test_wrapped_messages_get_the_offsets_that_they_had(magic: int, codec: int, written: list[LegacyRecord]) -> None:
    assert read_legacy_records(encode_wrapper(written, magic, codec)) == as_read(written, magic)


@given(codecs, records(), st.integers(0, 2**50))
def test_the_wrappers_append_time_is_everyones(codec: int, written: list[LegacyRecord], time: int) -> None:
    found = read_legacy_records(encode_wrapper(written, 1, codec, append_time=time))
    assert found == [r._replace(timestamp=time) for r in written]


@given(magics, codecs, records(), st.data())
def test_plain_and_wrapped_messages_stand_side_by_side(
    magic: int, codec: int, written: list[LegacyRecord], data: st.DataObject
) -> None:
    more = data.draw(records(first=written[-1].offset + 1))
    found = read_legacy_records(encode_wrapper(written, magic, codec) + encode_messages(more, magic))
    assert found == as_read(written + more, magic)


@given(magics, records(), st.data())
def test_a_flipped_bit_breaks_the_checksum(magic: int, written: list[LegacyRecord], data: st.DataObject) -> None:
    message = bytearray(encode_message(written[0], magic))
    message[data.draw(st.integers(12, len(message) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ProtocolError):
        read_legacy_records(message)


@given(magics, records(), st.data())
def test_a_cut_message_is_refused(magic: int, written: list[LegacyRecord], data: st.DataObject) -> None:
    message = encode_message(written[0], magic)
    with pytest.raises(ProtocolError):
        read_legacy_records(message[: data.draw(st.integers(1, len(message) - 1))])


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_legacy_records(data)
    except ProtocolError:
        return


@given(magics, st.integers(0, 7), st.binary(max_size=100))
@settings(max_examples=300)
def test_any_body_with_a_right_checksum_is_read_or_refused(magic: int, attributes: int, rest: bytes) -> None:
    body = struct.pack(">bb", magic, attributes) + rest
    data = struct.pack(">qiI", 7, 4 + len(body), zlib.crc32(body)) + body
    try:
        read_legacy_records(data)
    except ProtocolError:
        return


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (encode_message(LegacyRecord(5, 0, None, b"x"), 2), "format 2"),
        (encode_message(LegacyRecord(5, 0, None, None), 1, GZIP), "no value"),
        (encode_message(LegacyRecord(5, 0, None, b"x"), 1, ZSTD), "codec 4"),
        (encode_message(LegacyRecord(5, 0, None, b"x"), 1, 7), "codec 7"),
        (encode_messages([LegacyRecord(5, 0, None, b"x"), LegacyRecord(5, 0, None, b"y")], 1), "stands after"),
        (encode_message(LegacyRecord(-5, 0, None, b"x"), 1), "stands after"),
    ],
)
def test_what_no_broker_stores_is_named(messages: bytes, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        read_legacy_records(messages)


def test_a_wrapper_in_a_wrapper_is_refused() -> None:
    inner = [LegacyRecord(0, 0, None, b"x")]
    nested = encode_wrapper(inner, 1, GZIP)
    outer = _wrap(nested, magic=1)
    with pytest.raises(ProtocolError, match="holds one of format 1 with codec 1"):
        read_legacy_records(outer)


def test_a_wrapper_of_another_format_is_refused() -> None:
    with pytest.raises(ProtocolError, match="holds one of format 0"):
        read_legacy_records(_wrap(encode_message(LegacyRecord(0, 0, None, b"x"), 0), magic=1))


def test_a_wrapper_before_its_own_messages_is_refused() -> None:
    with pytest.raises(ProtocolError, match="holds one at 6"):
        read_legacy_records(_wrap(encode_message(LegacyRecord(6, 0, None, b"x"), 1), magic=1, offset=5))


def test_an_empty_wrapper_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no messages"):
        read_legacy_records(_wrap(b"", magic=1))


def test_wrappers_share_one_limit() -> None:
    big = encode_wrapper([LegacyRecord(0, 0, None, bytes(1000))], 1, GZIP)
    other = encode_wrapper([LegacyRecord(1, 0, None, bytes(1000))], 1, GZIP)
    assert len(read_legacy_records(big + other, max_bytes=2200)) == 2
    with pytest.raises(ProtocolError):
        read_legacy_records(big + other, max_bytes=2000)


def _wrap(content: bytes, *, magic: int, offset: int = 5) -> bytes:
    return encode_message(LegacyRecord(offset, 0, None, compress(GZIP, content)), magic, GZIP)
