r"""Snappy as Kafka's Java clients write it: snappy-java's stream of blocks, each a raw snappy text.

bytes   field
    8   magic \x82SNAPPY\0
    4   version, 1
    4   oldest version that can read it, 1
    4   block's size        } again and again; another magic in place of a size begins another stream
    n   block, raw snappy   }
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import cramjam
import numpy as np

from sparkmirror.errors import ProtocolError

MAGIC = b"\x82SNAPPY\x00"
HEADER_BYTES = 16
BLOCK_BYTES = 32 << 10  # snappy-java's, and what a reader's buffers may be made for

_SIZE = struct.Struct(">i")
_VERSIONS = struct.pack(">ii", 1, 1)


def is_xerial(data: memoryview) -> bool:
    """Anything else is one raw text, as librdkafka writes it."""
    return len(data) >= HEADER_BYTES and data[:8] == MAGIC


def decompress_blocks(data: memoryview, max_bytes: int) -> memoryview:
    """All blocks' contents. Each block says its size first, so nothing is decompressed if they say too much."""
    blocks = list(_blocks(data))
    sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
    if sum(sizes) > max_bytes:
        raise ProtocolError(f"snappy: {sum(sizes)} bytes would come out, at most {max_bytes} are allowed")
    out = np.empty(sum(sizes), np.uint8).data
    begin = 0
    for block, size in zip(blocks, sizes, strict=True):
        if size:
            cramjam.snappy.decompress_raw_into(block, out[begin : begin + size])
        begin += size
    return out


def compress_blocks(data: memoryview) -> bytes:
    pieces = [MAGIC, _VERSIONS]
    for begin in range(0, len(data), BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[begin : begin + BLOCK_BYTES]))
        pieces += (_SIZE.pack(len(block)), block)
    return b"".join(pieces)


def _blocks(data: memoryview) -> Iterator[memoryview]:
    position = HEADER_BYTES
    while position < len(data):
        if data[position : position + 8] == MAGIC:
            position += HEADER_BYTES
            continue
        if position + 4 > len(data):
            raise ProtocolError("snappy: the data end inside a block's size")
        size = _SIZE.unpack_from(data, position)[0]
        position += 4
        if not 0 < size <= len(data) - position:
            raise ProtocolError(f"snappy: a block of {size} bytes, {len(data) - position} are left")
        yield data[position : position + size]
        position += size
