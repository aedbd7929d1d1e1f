"""Kafka's codecs, as the attributes of a batch number them. What its clients and brokers write is read, and the
other way round.

    0  none
    1  gzip     one member or several
    2  snappy   xerial's stream of blocks (Java) or one raw text (librdkafka)
    3  lz4      frames; ours have independent blocks, Java reads no others
    4  zstd     frames

Everything comes from a remote side: data that can't be read, or that would grow beyond a limit, are a
ProtocolError. The limit is kept by the size of the memory that a decompressor gets to write to.
"""

from __future__ import annotations

from types import ModuleType

import cramjam
import numpy as np

from sparkmirror.batch import lz4_frame, xerial, zstd_frame
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.produce import Buffer

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

# What a batch may grow to. A producer's has some MB at most before it is compressed, so one that grows to more was made
# to do harm. Twice as much is in memory while records are written anew.
MAX_OUTPUT_BYTES = 128 << 20

# The defaults of Kafka's own producer; its default for lz4 is the fast compressor.
_GZIP_LEVEL = 6
_LZ4_LEVEL = 1
_ZSTD_LEVEL = 3
# Deflate spends at least two bits on its longest match of 258 bytes.
_MOST_BY_DEFLATE = 1032


def decompress(codec: int, data: Buffer, *, max_bytes: int = MAX_OUTPUT_BYTES) -> memoryview:
    """What `data` stand for; without a codec, a view onto them."""
    view = memoryview(data)
    try:
        if codec == NONE:
            return view
        if codec == GZIP:
            return _decompress_gzip(view, max_bytes)
        if codec == SNAPPY:
            return _decompress_snappy(view, max_bytes)
        if codec == LZ4:
            return _decompress_into(cramjam.lz4, view, lz4_frame.bound_content(view), max_bytes)
        if codec == ZSTD:
            return _decompress_into(cramjam.zstd, view, zstd_frame.bound_content(view), max_bytes)
    except cramjam.DecompressionError as error:
        raise ProtocolError(
            f"{NAMES[codec]}: {len(view)} bytes can't be read, or grow to more than {max_bytes}: {error}"
        ) from error
    raise ProtocolError(f"there is no codec {codec}")


def compress(codec: int, data: Buffer) -> bytes:
    """As Kafka's Java producer would do it with its default level."""
    view = memoryview(data)
    if codec == NONE:
        return bytes(view)
    if codec == GZIP:
        return bytes(cramjam.gzip.compress(view, level=_GZIP_LEVEL))
    if codec == SNAPPY:
        return xerial.compress_blocks(view)
    if codec == LZ4:
        frame = cramjam.lz4.Compressor(level=_LZ4_LEVEL, content_checksum=False, block_linked=False)
        frame.compress(bytes(view))  # it takes nothing else
        return bytes(frame.finish())
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(view, level=_ZSTD_LEVEL))
    raise ProtocolError(f"there is no codec {codec}")


def _decompress_gzip(data: memoryview, max_bytes: int) -> memoryview:
    bound = len(data) * _MOST_BY_DEFLATE
    # The last four bytes are the size of the last member, which nearly always is the only one.
    said = int.from_bytes(data[-4:], "little")
    if said <= min(bound, max_bytes):
        try:
            return _decompress_into(cramjam.gzip, data, said, max_bytes)
        except cramjam.DecompressionError:
            pass
    return _decompress_into(cramjam.gzip, data, bound, max_bytes)


def _decompress_snappy(data: memoryview, max_bytes: int) -> memoryview:
    if xerial.is_xerial(data):
        return xerial.decompress_blocks(data, max_bytes)
    size = cramjam.snappy.decompress_raw_len(data)
    if size > max_bytes:
        raise ProtocolError(f"snappy: {size} bytes would come out, at most {max_bytes} are allowed")
    out = np.empty(size, np.uint8).data
    return out[: cramjam.snappy.decompress_raw_into(data, out)]


def _decompress_into(module: ModuleType, data: memoryview, bound: int, max_bytes: int) -> memoryview:
    """Memory that is not written to costs nothing, so a bound may be generous."""
    out = np.empty(min(bound, max_bytes), np.uint8).data
    return out[: module.decompress_into(data, out)]
