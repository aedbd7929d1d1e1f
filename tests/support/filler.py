"""Batches that take a million offsets and next to no bytes, so that a log reaches far offsets quickly.

a record of a filler
  length          varint: 5 + the size of the offset
  attributes      0
  timestamp       0: the batch's own
  offset          varint of one to three bytes, counted from the batch's first
  key, value      -1: none
  headers         0
"""

from __future__ import annotations

import struct

import cramjam
import numpy as np
from awscrt.checksums import crc32c

MOST_RECORDS = 1 << 20  # an offset beyond takes four bytes
_ZSTD = 4


def encode_filler(records: int, timestamp: int) -> bytes:
    """One batch, as a producer without an id sends it."""
    assert 0 < records <= MOST_RECORDS
    body = bytes(cramjam.zstd.compress(_encode_records(records)))
    tail = struct.pack(">hiqqqhii", _ZSTD, records - 1, timestamp, timestamp, -1, -1, -1, records) + body
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def _encode_records(records: int) -> bytes:
    zigzag = np.arange(records, dtype=np.uint32) * 2
    parts = []
    for size in (1, 2, 3):
        some = zigzag[(zigzag >= (1 << 7 * size - 7 if size > 1 else 0)) & (zigzag < 1 << 7 * size)]
        rows = np.zeros((len(some), 6 + size), dtype=np.uint8)
        rows[:, 0] = (5 + size) * 2
        for place in range(size):
            rows[:, 3 + place] = (some >> 7 * place) & 0x7F | (0x80 if place < size - 1 else 0)
        rows[:, 3 + size : 5 + size] = 1
        parts.append(rows.tobytes())
    return b"".join(parts)
