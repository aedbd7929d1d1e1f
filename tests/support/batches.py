"""Record batches made by an independent encoder (kafka-python), as a broker would store them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from awscrt.checksums import crc32c
from kafka.record.memory_records import MemoryRecordsBuilder

Fields = tuple[bytes | None, bytes | None, int]  # key, value, timestamp
Headers = tuple[tuple[str, bytes | None], ...]


def encode_batch(records: Sequence[Fields], *, first: int = 0, codec: int = 0, headers: Headers = ()) -> bytearray:
    """The headers are those of every record."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 24)
    for key, value, timestamp in records:
        builder.append(timestamp, key, value, headers)
    assert builder.next_offset() == len(records), "too big for one batch"
    builder.close()
    batch = bytearray(builder.buffer())
    batch[:8] = first.to_bytes(8, "big")
    return batch


def simple_batch(first: int, count: int) -> bytearray:
    return encode_batch([(None, b"v%d" % i, 1_700_000_000_000 + i) for i in range(count)], first=first)


def assemble_batch(
    section: bytes, *, first: int, count: int, base_timestamp: int, max_timestamp: int, codec: int = 0
) -> bytes:
    """A whole batch around a records section that has no holes and is compressed already."""
    summed = struct.pack(">hiqqqhii", codec, count - 1, base_timestamp, max_timestamp, -1, -1, -1, count) + section
    return struct.pack(">qiibI", first, 9 + len(summed), 0, 2, crc32c(summed)) + summed
