"""Arrow columns as plain arrays for the kernels, without copying payload.

Any slice of any array works: offsets, nulls, 32- and 64-bit variants, binary and text. Arrow's own conversions to
numpy are not used, since they load pandas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkmirror.batch._encode_columns import Cells, Headers

NO_TIMESTAMP = -1

Int64s = npt.NDArray[np.int64]


def timestamp_cells(batch: pa.RecordBatch) -> Int64s:
    """Milliseconds; -1 for null."""
    column = _column(batch, "timestamp")
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_TIMESTAMP, np.int64)
    if column.type != pa.int64():
        raise TypeError(f"timestamp must be int64 (milliseconds), not {column.type}")
    if not len(column):
        return np.empty(0, np.int64)
    # A copy: Arrow's memory is read-only, ours is not, and the compiler takes that for two types.
    times = _array(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)].copy()
    if column.null_count:
        times[_null_rows(column)] = NO_TIMESTAMP
    return times


def payload_cells(batch: pa.RecordBatch, name: str) -> Cells:
    return _cells(_column(batch, name), name)


def header_cells(batch: pa.RecordBatch) -> Headers:
    column = _column(batch, "headers")
    count = len(column)
    if pa.types.is_null(column.type) or column.null_count == count:
        nothing = _no_cells(0)
        return Headers(np.zeros(count, np.int64), np.zeros(count, np.int64), nothing, nothing)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise TypeError(f"headers must be a list of structs, not {column.type}")
    starts, counts = _ranges(column)
    # Only what this slice refers to: the whole may be many times larger.
    begin, end = int(starts[0]), int((starts + np.maximum(counts, 0)).max())
    entries = column.values.slice(begin, end - begin)
    keys = _cells(entries.field("key"), "headers.key")
    values = _cells(entries.field("value"), "headers.value")
    if entries.null_count:
        # A header that is null has no key either, and that is what is refused.
        keys.sizes[_null_rows(entries)] = -1
    return Headers(starts - begin, np.maximum(counts, 0), keys, values)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    index = batch.schema.get_field_index(name)
    return pa.nulls(batch.num_rows) if index < 0 else batch.column(index)


def _cells(column: pa.Array, name: str) -> Cells:
    kind = column.type
    if pa.types.is_null(kind):
        return _no_cells(len(column))
    if not (_is_bytes(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TypeError(f"{name} must be binary or string, not {kind}")
    starts, sizes = _ranges(column)
    return Cells(_array(column.buffers()[2], np.uint8), starts, sizes)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _no_cells(count: int) -> Cells:
    return Cells(_array(None, np.uint8), np.zeros(count, np.int64), np.full(count, -1, np.int64))


def _ranges(column: pa.Array) -> tuple[Int64s, Int64s]:
    """Where each row's bytes or elements begin and how many they are; -1 for null."""
    width = np.int64 if _has_wide_offsets(column.type) else np.int32
    if not len(column):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    offsets = _array(column.buffers()[1], width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    sizes = np.diff(offsets)
    if column.null_count:
        sizes[_null_rows(column)] = -1
    return offsets[:-1], sizes


def _has_wide_offsets(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) or pa.types.is_large_list(kind))


def _null_rows(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Of a column that has nulls."""
    byte, bit = divmod(column.offset, 8)
    bits = _array(column.buffers()[0], np.uint8)[byte:]
    valid = np.unpackbits(bits, count=bit + len(column), bitorder="little")[bit:]
    nulls: npt.NDArray[np.bool_] = valid == 0
    return nulls


def _array(buffer: pa.Buffer | None, kind: Any) -> npt.NDArray[Any]:
    """A view onto Arrow's memory, read-only for the compiler's sake; Arrow has no buffer where there are no bytes."""
    if buffer is None or not buffer.size:
        array = np.empty(0, kind)
    else:
        array = np.frombuffer(buffer, kind, buffer.size // np.dtype(kind).itemsize)
    array.flags.writeable = False
    return array
