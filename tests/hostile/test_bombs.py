"""Batches of a few KB that grow to GBs: memory stays within bounds on each way that a batch may take."""

from __future__ import annotations

import functools
import gzip
import struct
import time
from collections.abc import Callable

import cramjam
import numpy as np
import pytest

from sparkmirror.batch import scan
from sparkmirror.batch.codec import GZIP, LZ4, MAX_OUTPUT_BYTES, NAMES, SNAPPY, ZSTD, compress
from sparkmirror.batch.decode_fetch import decode_fetch
from sparkmirror.batch.header import read_header
from sparkmirror.batch.legacy import LegacyRecord, read_legacy_records
from sparkmirror.batch.records import read_records
from sparkmirror.batch.warm import warm_up
from sparkmirror.copy.queue import CopyQueue, Ready
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.fetch import FetchedPartition
from tests.hostile.lies import ATTRIBUTES, field, sealed_batch
from tests.support.batches import assemble_batch
from tests.support.memory import grown_bytes
from tests.support.message_sets import encode_message

GROWN_BYTES = 1 << 30
MOST_ANEW_BYTES = MAX_OUTPUT_BYTES + (32 << 20)
MOST_MERGED_BYTES = 64 << 20
LONGEST_S = 10.0
LOG_APPEND_TIME = 0x08
END = 1 << 40


@functools.cache
def _gzip_bomb(size: int) -> bytes:
    part = gzip.compress(bytes(32 << 20), 9)
    return part * max(1, size // (32 << 20))


def _zstd_bomb(size: int) -> bytes:
    """Blocks of one byte that is repeated: four bytes for 128 KB each."""
    count = max(2, size // (128 << 10))
    block = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"\0"
    last = struct.pack("<I", (128 << 10) << 3 | 1 << 1 | 1)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd" + bytes((0, 0x58)) + block * (count - 1) + last


@functools.cache
def _lz4_bomb(size: int) -> bytes:
    part = compress(LZ4, bytes(32 << 20))
    return part * max(1, size // (32 << 20))


def _snappy_bomb(size: int) -> bytes:
    """It says its size first, and this is all that it has."""
    out = bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(out) + bytes((size,)) + b"\0a" + b"\xfe\1\0" * 50


BOMBS: dict[int, Callable[[int], bytes]] = {
    GZIP: _gzip_bomb,
    SNAPPY: _snappy_bomb,
    LZ4: _lz4_bomb,
    ZSTD: _zstd_bomb,
}
codecs = pytest.mark.parametrize("codec", BOMBS, ids=NAMES.__getitem__)


def _bomb(codec: int, first: int = 0, *, size: int = GROWN_BYTES, rewritten: bool = False) -> bytes:
    batch = assemble_batch(
        BOMBS[codec](size), first=first, count=1, base_timestamp=0, max_timestamp=0, codec=codec
    )  # fmt: skip
    changed = bytearray(batch)
    if rewritten:
        field(ATTRIBUTES, codec | LOG_APPEND_TIME)(changed)
    return sealed_batch(changed)


def _small(codec: int, first: int) -> bytes:
    """One record: length, attributes, both deltas, no key, no value, no headers."""
    section = compress(codec, b"\x0c\0\0\0\1\1\0")
    return assemble_batch(section, first=first, count=1, base_timestamp=0, max_timestamp=0, codec=codec)


def _queue(data: bytes) -> CopyQueue:
    queue = CopyQueue(4711)
    queue.restart(0, 0)
    queue.add(FetchedPartition("t", 0, 0, END, END, 0, (), -1, memoryview(bytearray(data))), None)
    return queue


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm_up()
    _queue(_small(ZSTD, 0))


@codecs
def test_a_bomb_passes_unopened(codec: int) -> None:
    data = _bomb(codec)
    with grown_bytes() as grown:
        queue = _queue(data)
    assert isinstance(queue.head, Ready) and not queue.head.rebuilt
    assert grown() < 3 * len(data) + (1 << 20)


@codecs
def test_a_bomb_that_must_be_opened_is_refused(codec: int) -> None:
    began = time.monotonic()
    data = _bomb(codec, rewritten=True)
    with grown_bytes() as grown, pytest.raises(ProtocolError, match=NAMES[codec]):
        _queue(data)
    assert grown() < MOST_ANEW_BYTES + 3 * len(data)
    assert time.monotonic() - began < LONGEST_S


def test_small_bombs_that_would_be_merged_pass_as_they_are() -> None:
    """Of zstd 1 KB may grow to 28 MB."""
    bombs = [_bomb(ZSTD, first, size=28 << 20) for first in range(200)]
    assert all(len(bomb) < scan.SMALL_COMPRESSED_BYTES for bomb in bombs)
    began = time.monotonic()
    with grown_bytes() as grown:
        queue = _queue(b"".join(bombs))
    assert len(queue) == len(bombs)
    assert grown() < MOST_MERGED_BYTES
    assert time.monotonic() - began < LONGEST_S


@codecs
def test_a_bomb_among_small_batches_leaves_them_as_they_are(codec: int) -> None:
    size = 28 << 20 if codec == ZSTD else 1 << 10
    near = [_small(codec, first) for first in (0, 2)]
    data = near[0] + _bomb(codec, 1, size=size) + near[1]
    with grown_bytes() as grown:
        queue = _queue(data)
    assert queue.position == 3
    assert grown() < MOST_MERGED_BYTES


@codecs
def test_a_bomb_becomes_no_rows(codec: int) -> None:
    data = memoryview(bytearray(_bomb(codec)))
    found = scan.scan_batches(np.frombuffer(data, np.uint8), 0)
    with grown_bytes() as grown, pytest.raises(ProtocolError, match=NAMES[codec]):
        list(decode_fetch(data, found, 0, END))
    assert grown() < MOST_ANEW_BYTES


@codecs
def test_a_bomb_in_an_internal_topic_is_refused(codec: int) -> None:
    batch = memoryview(_bomb(codec))
    with grown_bytes() as grown, pytest.raises(ProtocolError):
        read_records(read_header(batch), batch)
    assert grown() < MOST_ANEW_BYTES


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4], ids=NAMES.__getitem__)
def test_a_bomb_of_an_old_format_is_refused(codec: int) -> None:
    message = encode_message(LegacyRecord(0, 0, None, BOMBS[codec](GROWN_BYTES)), 1, codec)
    with grown_bytes() as grown, pytest.raises(ProtocolError):
        read_legacy_records(message)
    assert grown() < MOST_ANEW_BYTES + 4 * len(message)


def test_every_bomb_would_go_off() -> None:
    """What these tests are about: decompressors that nobody bounds."""
    assert len(cramjam.zstd.decompress(_zstd_bomb(8 << 20))) == 8 << 20
    assert len(cramjam.gzip.decompress(_gzip_bomb(64 << 20))) == 64 << 20
    assert len(cramjam.lz4.decompress(compress(LZ4, bytes(1 << 20)))) == 1 << 20
