"""Record batches made by an independent encoder (kafka-python), as a broker would store them."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.record.memory_records import MemoryRecordsBuilder

Fields = tuple[bytes | None, bytes | None, int]  # key, value, timestamp


def encode_batch(records: Sequence[Fields], *, first: int = 0, codec: int = 0) -> bytearray:
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 24)
    for key, value, timestamp in records:
        builder.append(timestamp, key, value)
    builder.close()
    batch = bytearray(builder.buffer())
    batch[:8] = first.to_bytes(8, "big")
    return batch


def simple_batch(first: int, count: int) -> bytearray:
    return encode_batch([(None, b"v%d" % i, 1_700_000_000_000 + i) for i in range(count)], first=first)
