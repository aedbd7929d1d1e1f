"""Kernel from columns to a records section: each record's size first, since it stands before the record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkmirror.batch.kernel import Bytes, copy_bytes, kernel
from sparkmirror.batch.varint import varint_size, write_varint

Int64s = npt.NDArray[np.int64]

# What `write_records` gives in place of a size.
NULL_HEADER_KEY = -1
NO_ROOM = -2


class Cells(NamedTuple):
    """A column of bytes: all its data, where each cell begins and how long it is; -1 is null."""

    data: Bytes
    starts: Int64s
    sizes: Int64s


class Headers(NamedTuple):
    """The headers of all records: where those of a record begin, how many they are, and the cells."""

    starts: Int64s
    counts: Int64s
    keys: Cells
    values: Cells


@kernel
def _cell_size(size: int) -> int:
    return varint_size(size) + max(size, 0)


@kernel
def _write_cell(out: Bytes, position: int, data: Bytes, start: int, size: int) -> int:
    position = write_varint(out, position, size)
    if size > 0:
        copy_bytes(out, position, data, start, size)
        position += size
    return position


@kernel
def write_records(timestamps: Int64s, keys: Cells, values: Cells, headers: Headers, out: Bytes) -> int:
    """Writes all rows with offset deltas from 0 on, timestamps as deltas from the first; the section's size."""
    key_data, key_starts, key_sizes = keys
    value_data, value_starts, value_sizes = values
    header_starts, header_counts = headers.starts, headers.counts
    header_key_data, header_key_starts, header_key_sizes = headers.keys
    header_value_data, header_value_starts, header_value_sizes = headers.values
    position = 0
    for row in range(len(timestamps)):
        delta, count = timestamps[row] - timestamps[0], header_counts[row]
        size = 1 + varint_size(delta) + varint_size(row) + varint_size(count)
        size += _cell_size(key_sizes[row]) + _cell_size(value_sizes[row])
        begin, end = header_starts[row], header_starts[row] + count
        for header in range(begin, end):
            if header_key_sizes[header] < 0:
                return NULL_HEADER_KEY
            size += _cell_size(header_key_sizes[header]) + _cell_size(header_value_sizes[header])
        if position + varint_size(size) + size > len(out):
            return NO_ROOM

        position = write_varint(out, position, size)
        out[position] = 0
        position = write_varint(out, position + 1, delta)
        position = write_varint(out, position, row)
        position = _write_cell(out, position, key_data, key_starts[row], key_sizes[row])
        position = _write_cell(out, position, value_data, value_starts[row], value_sizes[row])
        position = write_varint(out, position, count)
        for header in range(begin, end):
            position = _write_cell(out, position, header_key_data, header_key_starts[header], header_key_sizes[header])
            position = _write_cell(
                out, position, header_value_data, header_value_starts[header], header_value_sizes[header]
            )
    return position
