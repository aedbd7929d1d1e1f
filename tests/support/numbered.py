"""Batches of records whose values are numbers of their own, so that millions of them can be told apart; built at once.

a record
  length          varint: 21 + the size of the offset
  attributes      0
  timestamp       0: the batch's own
  offset          varint of one or two bytes, counted from the batch's first
  key, value      16 (a length of 8), 8 bytes each
  headers         0
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from awscrt.checksums import crc32c

from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import append_batch

BATCH_RECORDS = 2000
_ONE_BYTE = 64  # offsets below it take one byte, those up to 8191 two
_FIXED = 21

Numbers = npt.NDArray[np.uint64]


def encode_numbered(keys: Numbers, values: Numbers, timestamp: int) -> bytes:
    """One batch, as a producer without an id sends it."""
    count = len(values)
    assert 0 < count <= 8192
    fields = np.stack([keys, values], axis=1).astype(">u8").view(np.uint8)
    parts = ((0, min(count, _ONE_BYTE), 1), (_ONE_BYTE, count, 2))
    body = b"".join(_encode_rows(fields[first:end], first, size) for first, end, size in parts if first < end)
    tail = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp, -1, -1, -1, count) + body
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def _encode_rows(fields: npt.NDArray[np.uint8], first: int, size: int) -> bytes:
    """`fields`: eight bytes of the key and eight of the value."""
    zigzag = np.arange(first, first + len(fields), dtype=np.uint32) * 2
    rows = np.zeros((len(fields), 1 + _FIXED + size), dtype=np.uint8)
    rows[:, 0] = (_FIXED + size) * 2
    for place in range(size):
        rows[:, 3 + place] = (zigzag >> 7 * place) & 0x7F | (0x80 if place < size - 1 else 0)
    rows[:, 3 + size] = rows[:, 12 + size] = 16
    rows[:, 4 + size : 12 + size] = fields[:, :8]
    rows[:, 13 + size : 21 + size] = fields[:, 8:]
    return rows.tobytes()


def append_numbered(
    cluster: Cluster, topic: str, partition: int, keys: Numbers, values: Numbers, timestamps: Iterable[int]
) -> None:
    """In batches, each with the next timestamp."""
    info = cluster.fetch_metadata([topic]).topics[topic]
    for first, timestamp in zip(range(0, len(values), BATCH_RECORDS), timestamps, strict=False):
        end = first + BATCH_RECORDS
        append_batch(cluster, info, partition, encode_numbered(keys[first:end], values[first:end], timestamp))
