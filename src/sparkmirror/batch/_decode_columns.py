"""Kernels from a records section to columns: find and check every field, then copy what belongs together.

section   | length attributes timestamp offset | key | value | headers | length ...
                                                  |     |
keys                              | key | key | key     |
values                                    | value | value | value ...
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkmirror.batch.kernel import Bytes, copy_bytes, kernel
from sparkmirror.batch.varint import FAILED, read_size, read_varint, read_varlong

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

# What `find_records` found wrong.
OK, CUT, LENGTH, OFFSET, FIELD, HEADERS, LEFTOVER, TRAILING = range(8)
PROBLEMS = (
    "",
    "a number ends outside of it or is too long",
    "its length is not what is there",
    "its offset is not between its neighbours'",
    "a key or value is longer than the record",
    "its headers are longer than the record",
    "its fields end before it does",
    "bytes follow the last record",
)


class Cells(NamedTuple):
    """A column of bytes: where each cell begins in the section, where it ends in the column, and whether it is null.

    `ends` and `valid` are Arrow's: `ends` has one more element than rows, `valid` one bit a row.
    """

    starts: Int32s
    ends: Int32s
    valid: Bytes


class Rows(NamedTuple):
    """What is known of each record after one walk through a section. The cells of `headers` are lists of headers."""

    offsets: Int64s
    timestamps: Int64s
    keys: Cells
    values: Cells
    headers: Cells


def new_cells(count: int) -> Cells:
    return Cells(np.empty(count, np.int32), np.zeros(count + 1, np.int32), np.zeros((count + 7) // 8, np.uint8))


def new_rows(count: int) -> Rows:
    offsets, timestamps = np.empty(count, np.int64), np.empty(count, np.int64)
    return Rows(offsets, timestamps, new_cells(count), new_cells(count), new_cells(count))


@kernel
def _skip_headers(section: Bytes, position: int, end: int, count: int) -> int:
    for _ in range(count):
        size, position = read_size(section, position, end)
        if position == FAILED or size < 0:
            return FAILED
        size, position = read_size(section, position + size, end)
        if position == FAILED:
            return FAILED
        position += max(size, 0)
    return position


@kernel
def find_records(  # noqa: PLR0912
    section: Bytes, first: int, last_delta: int, base_timestamp: int, rows: Rows
) -> tuple[int, int]:
    """Fills `rows`, as many as it has; what is wrong and with which record.

    One long function with every array in a local name: handing tuples of arrays to functions for the parts takes
    twice the time, since numba counts references then.
    """
    offsets, timestamps = rows.offsets, rows.timestamps
    key_starts, key_ends, key_valid = rows.keys
    value_starts, value_ends, value_valid = rows.values
    header_starts, header_ends, header_valid = rows.headers
    key_total = value_total = header_total = 0
    position, end, before = 0, len(section), -1
    for row in range(len(offsets)):
        bit = np.uint8(1 << (row & 7))
        size, position = read_varint(section, position, end)
        if position == FAILED:
            return CUT, row
        if size < 1 or size > end - position:
            return LENGTH, row
        record_end = position + size

        delta, position = read_varlong(section, position + 1, record_end)
        if position == FAILED:
            return CUT, row
        timestamps[row] = base_timestamp + delta

        delta, position = read_varint(section, position, record_end)
        if position == FAILED:
            return CUT, row
        if delta <= before or delta > last_delta:
            return OFFSET, row
        before = delta
        offsets[row] = first + delta

        size, position = read_size(section, position, record_end)
        if position == FAILED:
            return FIELD, row
        key_starts[row] = position
        if size >= 0:
            key_valid[row >> 3] |= bit
            key_total += size
            position += size
        key_ends[row + 1] = key_total

        size, position = read_size(section, position, record_end)
        if position == FAILED:
            return FIELD, row
        value_starts[row] = position
        if size >= 0:
            value_valid[row >> 3] |= bit
            value_total += size
            position += size
        value_ends[row + 1] = value_total

        headers, position = read_varint(section, position, record_end)
        if position == FAILED:
            return CUT, row
        # A header takes two bytes at least, so a huge count ends here and not after a long loop.
        if headers < 0 or 2 * headers > record_end - position:
            return HEADERS, row
        header_starts[row] = position
        if headers:
            header_valid[row >> 3] |= bit
            header_total += headers
            position = _skip_headers(section, position, record_end, headers)
            if position == FAILED:
                return HEADERS, row
        header_ends[row + 1] = header_total

        if position != record_end:
            return LEFTOVER, row
    if position != end:
        return TRAILING, len(offsets)
    return OK, len(offsets)


@kernel
def find_headers(section: Bytes, headers: Cells, keys: Cells, values: Cells) -> None:
    """Fills the cells of all headers of records that `find_records` has checked."""
    starts, ends, _ = headers
    key_starts, key_ends, key_valid = keys
    value_starts, value_ends, value_valid = values
    key_total = value_total = 0
    for row in range(len(starts)):
        position = int(starts[row])
        for header in range(ends[row], ends[row + 1]):
            bit = np.uint8(1 << (header & 7))
            size, position = read_size(section, position, len(section))
            key_starts[header] = position
            key_valid[header >> 3] |= bit
            key_total += size
            key_ends[header + 1] = key_total

            size, position = read_size(section, position + size, len(section))
            value_starts[header] = position
            if size >= 0:
                value_valid[header >> 3] |= bit
                value_total += size
                position += size
            value_ends[header + 1] = value_total


@kernel
def gather(section: Bytes, starts: Int32s, ends: Int32s, out: Bytes) -> None:
    """Copies the cells of a column one after the other."""
    for row in range(len(starts)):
        copy_bytes(out, ends[row], section, starts[row], ends[row + 1] - ends[row])
