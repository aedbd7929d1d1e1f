"""Kafka's variable-length numbers for compiled kernels: zigzag, seven bits a byte, least first.

A kernel can't raise over hostile bytes at speed, so a read answers with the place after the number, or with
`BROKEN` in place of it.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.kernel import Bytes, kernel

BROKEN = -1
_LONGEST = 70  # ten bytes of seven bits hold any 64-bit number


@kernel
def read_varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at` and the place after it; `BROKEN` as the place if it does not end before `end`."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while at < end and shift < np.uint64(_LONGEST):
        byte = np.uint64(data[at])
        at += 1
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return int(np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))), at
        shift += np.uint64(7)
    return 0, BROKEN


@kernel
def write_varint(out: Bytes, at: int, value: int) -> int:
    """Write a number and answer the place after it. The caller has seen to the room."""
    rest = np.uint64((value << 1) ^ (value >> 63))
    while rest >= np.uint64(0x80):
        out[at] = np.uint8(rest & np.uint64(0x7F)) | np.uint8(0x80)
        at += 1
        rest >>= np.uint64(7)
    out[at] = np.uint8(rest)
    return at + 1


@kernel
def varint_size(value: int) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while rest >= np.uint64(0x80):
        size += 1
        rest >>= np.uint64(7)
    return size
