"""Zigzag numbers of variable length, compiled: the lengths and deltas of a record (KIP-98, `ByteUtils`).

    value   0  -1   1  -2   2        zigzag: the sign moves to the lowest bit
    bytes  00  01  02  03  04        then seven bits a byte, lowest first, highest bit: there is more

Java takes at most five bytes for an int and ten for a long, and drops what does not fit. So do these.
A read that fails gives the position -1: kernels can't raise without a cost.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.kernel import Bytes, kernel

FAILED = -1


@kernel
def read_varint(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """A 32-bit number and the position after it."""
    value = 0
    for shift in range(0, 35, 7):
        if position >= end:
            return 0, FAILED
        byte = int(data[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), position
    return 0, FAILED


@kernel
def read_varlong(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """A 64-bit number and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            return 0, FAILED
        byte = int(data[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), position
    return 0, FAILED


@kernel
def read_size(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """The size of bytes that lie before `end`, -1 for null, and the position where they begin."""
    size, position = read_varint(data, position, end)
    if position == FAILED or size < -1 or size > end - position:
        return 0, FAILED
    return size, position


@kernel
def varint_size(value: int) -> int:
    """How many bytes `write_varint` needs: 1 to 10."""
    left = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while left >= np.uint64(0x80):
        left >>= np.uint64(7)
        size += 1
    return size


@kernel
def write_varint(out: Bytes, position: int, value: int) -> int:
    """Writes a number of any size and gives the position after it."""
    left = np.uint64((value << 1) ^ (value >> 63))
    while left >= np.uint64(0x80):
        out[position] = np.uint8(left & np.uint64(0x7F)) | np.uint8(0x80)
        position += 1
        left >>= np.uint64(7)
    out[position] = np.uint8(left)
    return position + 1
