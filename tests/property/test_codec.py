"""Every codec against another implementation of it, and against bytes that nobody should send."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.batch.codec import NONE, SNAPPY, ZSTD, compress, decompress
from sparkmirror.errors import ProtocolError
from tests.support.codecs import COMPRESSED, reference_compress, reference_decompress

codecs = st.sampled_from(COMPRESSED)
# Repeats make several blocks of every codec without slowing hypothesis down.
contents = st.builds(lambda data, times: data * times, st.binary(max_size=200), st.sampled_from((1, 2, 50, 2000)))


@given(codecs, contents)
def test_another_implementation_reads_what_is_compressed(codec: int, data: bytes) -> None:
    assert reference_decompress(codec, compress(codec, data)) == data


@given(codecs, contents)
def test_what_another_implementation_compressed_is_read(codec: int, data: bytes) -> None:
    assert decompress(codec, reference_compress(codec, data)) == data


@given(st.sampled_from((NONE, *COMPRESSED)), contents)
def test_a_round_trip_changes_nothing(codec: int, data: bytes) -> None:
    assert decompress(codec, compress(codec, memoryview(data))) == data


@given(codecs, st.lists(contents, min_size=1, max_size=4))
def test_members_and_frames_one_after_the_other_are_read_as_one(codec: int, parts: list[bytes]) -> None:
    joined = b"".join(compress(codec, part) for part in parts)
    assert decompress(codec, joined) == b"".join(parts)


@given(codecs, contents, st.integers(1, 100))
def test_the_limit_is_exact(codec: int, data: bytes, missing: int) -> None:
    packed = compress(codec, data)
    assert decompress(codec, packed, max_bytes=len(data)) == data
    if len(data) >= missing:
        with pytest.raises(ProtocolError):
            decompress(codec, packed, max_bytes=len(data) - missing)


@given(codecs, st.binary(min_size=1, max_size=100), st.data())
def test_cut_data_are_refused(codec: int, content: bytes, data: st.DataObject) -> None:
    packed = compress(codec, content)
    cut = data.draw(st.integers(17 if codec == SNAPPY else 0, len(packed) - 1))
    with pytest.raises(ProtocolError):
        decompress(codec, packed[:cut])


@given(st.integers(-3, 9), st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(codec: int, data: bytes) -> None:
    try:
        decompress(codec, data, max_bytes=1 << 20)
    except ProtocolError:
        return
    assert codec in (NONE, *COMPRESSED)


@given(codecs, contents, st.data())
@settings(max_examples=300)
def test_changed_bytes_are_read_or_refused(codec: int, content: bytes, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, content))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        decompress(codec, packed, max_bytes=1 << 20)
    except ProtocolError:
        return


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_refused_without_the_memory_it_asks_for(codec: int) -> None:
    bomb = compress(codec, bytes(64 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            decompress(codec, bomb, max_bytes=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_blocks_that_repeat_one_byte_are_refused_at_the_limit() -> None:
    """The densest bomb there is: 8 GiB in 256 KiB."""
    block = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"\0"
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + block * (1 << 16) + b"\x01\0\0"
    with pytest.raises(ProtocolError):
        decompress(ZSTD, frame, max_bytes=1 << 20)


def test_a_snappy_text_that_claims_too_much_is_not_even_tried() -> None:
    with pytest.raises(ProtocolError, match="would come out"):
        decompress(SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0" * 100)


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_an_unknown_codec_is_a_protocol_error(codec: int) -> None:
    with pytest.raises(ProtocolError):
        decompress(codec, b"x")
    with pytest.raises(ProtocolError):
        compress(codec, b"x")
