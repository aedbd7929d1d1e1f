"""Other implementations of Kafka's codecs, to check ours against: Python's gzip, Arrow's C++ libraries."""

from __future__ import annotations

import gzip
import struct

import pyarrow as pa

from sparkmirror.batch.codec import GZIP, LZ4, SNAPPY, ZSTD

COMPRESSED = (GZIP, SNAPPY, LZ4, ZSTD)

_ARROW = {LZ4: "lz4", ZSTD: "zstd"}
_XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def reference_compress(codec: int, data: bytes) -> bytes:
    """Raw for snappy, as librdkafka has it."""
    if codec == GZIP:
        return gzip.compress(data)
    if codec == SNAPPY:
        return bytes(pa.Codec("snappy").compress(data))
    with pa.BufferOutputStream() as sink:
        with pa.CompressedOutputStream(sink, _ARROW[codec]) as stream:
            stream.write(data)
        return bytes(sink.getvalue())


def reference_decompress(codec: int, data: bytes) -> bytes:
    """Xerial's framing for snappy, which is what we write."""
    if codec == GZIP:
        return gzip.decompress(data)
    if codec == SNAPPY:
        return b"".join(_xerial_blocks(data))
    with pa.CompressedInputStream(pa.BufferReader(data), _ARROW[codec]) as stream:
        return bytes(stream.read())


def _xerial_blocks(data: bytes) -> list[bytes]:
    assert data.startswith(_XERIAL)
    blocks, position = [], len(_XERIAL)
    while position < len(data):
        (size,) = struct.unpack_from(">i", data, position)
        block = data[position + 4 : position + 4 + size]
        blocks.append(bytes(pa.Codec("snappy").decompress(block, _raw_size(block))))
        position += 4 + size
    return blocks


def _raw_size(block: bytes) -> int:
    """A raw snappy text begins with its content's size as a varint."""
    size = shift = 0
    for byte in block:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return size
