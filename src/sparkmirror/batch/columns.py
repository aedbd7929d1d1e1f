"""Between the records section of a batch and Arrow: the record way's two ends.

    column          type                                     decoded from a batch
    offset          int64                                    the batch's first offset + the record's delta
    timestamp       int64, ms                                base + delta; with LogAppendTime the batch's
    timestamp_type  int32                                    0 CreateTime, 1 LogAppendTime
    key, value      binary                                   null is null
    headers         list<struct<key: string, value: binary>> null without headers, as Spark's Kafka source has it

Everything that is done a record is compiled; a payload is copied once in either direction.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkmirror.batch import _decode_columns as decode
from sparkmirror.batch._arrow_cells import header_cells, payload_cells, timestamp_cells
from sparkmirror.batch._encode_columns import NULL_HEADER_KEY, Cells, Headers, write_records
from sparkmirror.errors import MirrorError, ProtocolError
from sparkmirror.protocol.produce import Buffer

NO_TIMESTAMP = -1
CREATE_TIME = 0
LOG_APPEND_TIME = 1

HEADER_TYPE = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(HEADER_TYPE)),
    ]
)

# Length, attributes, two deltas, two nulls and no headers, a byte each.
_SHORTEST_RECORD = 7
# Five numbers of five bytes at most, the timestamp's ten and the attributes; two numbers a header.
_MOST_AROUND_PAYLOAD = 5 * 5 + 10 + 1
_MOST_AROUND_HEADER = 2 * 5
_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1

Int64s = npt.NDArray[np.int64]


def decode_records(
    section: Buffer,
    *,
    first: int,
    last_delta: int,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    log_append_time: bool,
) -> pa.RecordBatch:
    """The records of an uncompressed section, all of them or a ProtocolError; the rest is from the batch's header."""
    data = np.frombuffer(section, np.uint8) if len(section) else np.empty(0, np.uint8)
    data.flags.writeable = False  # one type for the compiler, whatever the section is
    if not 0 <= count * _SHORTEST_RECORD <= len(data) <= _MAX_INT32:
        raise ProtocolError(f"the batch at offset {first} says that it has {count} records in {len(data)} bytes")
    if first < 0 or first + last_delta > _MAX_INT64:
        raise ProtocolError(f"a batch says that its offsets are {first} and the next {last_delta}")
    rows = decode.new_rows(count)
    problem, row = decode.find_records(data, first, last_delta, base_timestamp, rows)
    if problem != decode.OK:
        what = decode.PROBLEMS[problem]
        raise ProtocolError(f"record {row} of {count} in the batch at offset {first} can't be read: {what}")
    if log_append_time:
        rows.timestamps.fill(max_timestamp)
    timestamp_type = np.full(count, LOG_APPEND_TIME if log_append_time else CREATE_TIME, np.int32)
    columns = [
        _numbers(rows.offsets, pa.int64()),
        _numbers(rows.timestamps, pa.int64()),
        _numbers(timestamp_type, pa.int32()),
        _gathered(data, rows.keys, pa.binary()),
        _gathered(data, rows.values, pa.binary()),
        _decode_headers(data, rows),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def encode_records(batch: pa.RecordBatch) -> tuple[memoryview, int, int]:
    """A records section with offset deltas 0 to n-1, its base timestamp and its max timestamp.

    Columns that are not there count as null: no key, no headers. A null timestamp is Kafka's -1, "none".
    """
    timestamps = timestamp_cells(batch)
    if not len(timestamps):
        return memoryview(b""), NO_TIMESTAMP, NO_TIMESTAMP
    keys, values, headers = _cells_of(batch)
    out = np.empty(_bound_section(keys, values, headers), np.uint8)
    size = write_records(timestamps, keys, values, headers, out)
    if size == NULL_HEADER_KEY:
        raise MirrorError("null-header-key", "a record has a header without a key: give it one or leave it out")
    if size < 0:
        raise AssertionError("a record is larger than its bound")
    return out.data[:size], int(timestamps[0]), int(timestamps.max())


def plan_slices(batch: pa.RecordBatch, max_bytes: int) -> list[tuple[int, int]]:
    """(row, count) of slices, one after the other, whose sections have at most `max_bytes`.

    A record that is larger has a slice of its own. The sizes are upper bounds, a few bytes a record too high.
    """
    timestamps = timestamp_cells(batch)
    ends = np.cumsum(_bound_sizes(timestamps, *_cells_of(batch)))
    cuts = [0]
    while cuts[-1] < len(ends):
        begin = cuts[-1]
        before = int(ends[begin - 1]) if begin else 0
        cuts.append(max(begin + 1, int(np.searchsorted(ends, before + max_bytes, side="right"))))
    return [(begin, end - begin) for begin, end in pairwise(cuts)]


def warm_up() -> None:
    """Loads the compiled kernels, or compiles them if this machine has not yet: seconds the first time."""
    section = b"\x18\0\0\0\x02k\x02v\x02\x02h\x02w"  # one record, one header, one letter each
    rows = decode_records(
        section, first=0, last_delta=0, count=1, base_timestamp=0, max_timestamp=0, log_append_time=False
    )
    encode_records(rows)


def _numbers(array: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Arrow's own way from numpy, `pa.array`, loads pandas: a second of processor time in a worker that just began."""
    return pa.Array.from_buffers(kind, len(array), [None, _buffer(array)])


def _gathered(section: npt.NDArray[np.uint8], cells: decode.Cells, kind: pa.DataType) -> pa.Array:
    count = len(cells.starts)
    out = np.empty(int(cells.ends[-1]), np.uint8)
    decode.gather(section, cells.starts, cells.ends, out)
    return pa.Array.from_buffers(kind, count, [_buffer(cells.valid), _buffer(cells.ends), _buffer(out)])


def _decode_headers(section: npt.NDArray[np.uint8], rows: decode.Rows) -> pa.Array:
    count, total = len(rows.offsets), int(rows.headers.ends[-1])
    if not total:
        return pa.nulls(count, SCHEMA.field("headers").type)
    keys, values = decode.new_cells(total), decode.new_cells(total)
    decode.find_headers(section, rows.headers, keys, values)
    entries = pa.StructArray.from_arrays(
        [_text(_gathered(section, keys, pa.binary())), _gathered(section, values, pa.binary())],
        fields=list(HEADER_TYPE),
    )
    buffers = [_buffer(rows.headers.valid), _buffer(rows.headers.ends)]
    return pa.Array.from_buffers(SCHEMA.field("headers").type, count, buffers, children=[entries])


def _text(keys: pa.Array) -> pa.Array:
    """Header keys as text. Bytes that are not UTF-8 become U+FFFD, as in Java; nobody should have written them."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


def _buffer(array: npt.NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(array)


def _cells_of(batch: pa.RecordBatch) -> tuple[Cells, Cells, Headers]:
    return payload_cells(batch, "key"), payload_cells(batch, "value"), header_cells(batch)


def _bound_section(keys: Cells, values: Cells, headers: Headers) -> int:
    """Room for all records; what is not needed is not touched, so it may be generous."""
    payload = sum(int(np.maximum(c.sizes, 0).sum()) for c in (keys, values, headers.keys, headers.values))
    return payload + _MOST_AROUND_PAYLOAD * len(keys.sizes) + _MOST_AROUND_HEADER * int(headers.counts.sum())


def _bound_sizes(timestamps: Int64s, keys: Cells, values: Cells, headers: Headers) -> Int64s:
    """At most so many bytes takes each row, whichever rows stand before it in its section."""
    if not len(timestamps):
        return np.empty(0, np.int64)
    spread = int(timestamps.max()) - int(timestamps.min())
    deltas = _varint_bound(spread) + _varint_bound(len(timestamps))
    bodies = 1 + deltas + _cell_sizes(keys) + _cell_sizes(values) + _varint_sizes(headers.counts)
    if len(headers.keys.sizes):
        each = np.concatenate(([0], np.cumsum(_cell_sizes(headers.keys) + _cell_sizes(headers.values))))
        bodies += each[headers.starts + headers.counts] - each[headers.starts]
    return bodies + _varint_sizes(bodies)


def _cell_sizes(cells: Cells) -> Int64s:
    return np.maximum(cells.sizes, 0) + _varint_sizes(cells.sizes)


def _varint_sizes(values: Int64s) -> Int64s:
    """Bytes of each number between -1 and 2^31 - 1."""
    sizes = np.ones(len(values), np.int64)
    for bits in (6, 13, 20, 27):
        sizes += values >= 1 << bits
    return sizes


def _varint_bound(value: int) -> int:
    """Bytes of any number between -value and value. Beyond 64 bits deltas wrap, and take ten at most."""
    return min(10, -(-(value.bit_length() + 1) // 7))
