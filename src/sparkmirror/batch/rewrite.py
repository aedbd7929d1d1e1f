"""Encodes the records of one or several batches again, with new deltas: merge, split, trim, renumber.

    sections     | 10 11 12 | 13 14 |  16 18 19 |  20 ... |       (decompressed, offsets as at the source)
    keep 11..20       ^-------------------------------^
    runs         | 11 12 13 14 | 16 | 18 19 |                     each one new batch, its deltas 0, 1, 2, ...

A producer's batch can't have missing offsets inside (LogValidator), so a run ends where an offset is missing, and
where it has grown to `limit` bytes. Key, value and headers are copied as they stand, unseen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.kernel import Bytes, copy_bytes, kernel
from sparkmirror.batch.varint import FAILED, read_varint, read_varlong, varint_size, write_varint
from sparkmirror.errors import ProtocolError

# Columns of the table of sections. FIXED_TIMESTAMP: all records have this one (the broker's), or `NOT_FIXED`.
SECTION_START, SECTION_END, FIRST, LAST_DELTA, COUNT, BASE_TIMESTAMP, FIXED_TIMESTAMP = range(7)
SECTION_COLUMNS = 7
NOT_FIXED = -(1 << 62)

OUT_START, OUT_END, RUN_FIRST, RUN_COUNT, RUN_BASE, RUN_MAX = range(6)
_RUN_COLUMNS = 6

SHORTEST_RECORD = 7  # length, attributes, timestamp, offset, key, value, headers: a byte each
_LONGEST_GROWTH = 22  # a longer length, timestamp and offset
_LARGEST_COUNT = 1 << 27

OK, BAD_RECORD, BAD_OFFSET, BAD_COUNT = range(4)
_MEANINGS = {
    BAD_RECORD: "holds a record that goes past its end",
    BAD_OFFSET: "holds records whose offsets do not grow, or lie outside of it",
    BAD_COUNT: "does not hold as many records as its header says",
}

Table = NDArray[np.int64]


class Run(NamedTuple):
    """Records with consecutive offsets. `batch` has room for a header in front of them."""

    first: int
    records: int
    base_timestamp: int
    max_timestamp: int
    batch: memoryview


def rewrite_records(data: Bytes, sections: Table, *, keep_first: int, keep_end: int, limit: int) -> list[Run]:
    """The records of `sections` (see the columns) with offsets in `keep_first..keep_end`, as runs."""
    records, size = _measure(sections)
    if records < 0:
        raise ProtocolError("a batch says that it has more records than its bytes can hold")
    # A new run costs a header. There are at most as many as there are records.
    runs = np.empty((64, _RUN_COLUMNS), np.int64)
    while True:
        out = np.empty(size + records * _LONGEST_GROWTH + len(runs) * HEADER_BYTES, np.uint8)
        error, used = rewrite_sections(data, sections, keep_first, keep_end, limit, out, runs)
        if used <= len(runs):
            break
        runs = np.empty((used, _RUN_COLUMNS), np.int64)
    if error:
        raise ProtocolError(f"a batch {_MEANINGS[error]}")
    view = out.data
    return [
        Run(r[RUN_FIRST], r[RUN_COUNT], r[RUN_BASE], r[RUN_MAX], view[r[OUT_START] : r[OUT_END]])
        for r in runs[:used].tolist()
    ]


@kernel
def _measure(sections: Table) -> tuple[int, int]:
    """How many records the sections say that they have, in how many bytes; `FAILED` if that can't be."""
    records = size = 0
    for i in range(len(sections)):
        count, here = sections[i, COUNT], sections[i, SECTION_END] - sections[i, SECTION_START]
        if count * SHORTEST_RECORD > here:
            return FAILED, FAILED
        records += count
        size += here
    return (records, size) if records <= _LARGEST_COUNT else (FAILED, FAILED)


@kernel
def rewrite_sections(
    data: Bytes, sections: Table, keep_first: int, keep_end: int, limit: int, out: Bytes, runs: Table
) -> tuple[int, int]:
    """Fill `out` and `runs`; answers an error and the runs (needed, if more than there are)."""
    used = to = 0
    next_offset = run_start = run_base = run_max = run_count = 0
    for s in range(len(sections)):
        section = sections[s]
        at, end = section[SECTION_START], section[SECTION_END]
        seen = 0
        last_delta = -1
        while at < end:
            length, body = read_varint(data, at, end)
            if body == FAILED or length < 1 or length > end - body:
                return BAD_RECORD, used
            after = body + length
            attributes = data[body]
            delta_ts, rest = read_varlong(data, body + 1, after)
            if rest == FAILED:
                return BAD_RECORD, used
            delta, rest = read_varint(data, rest, after)
            if rest == FAILED:
                return BAD_RECORD, used
            if delta <= last_delta or delta > section[LAST_DELTA]:
                return BAD_OFFSET, used
            last_delta = delta
            seen += 1
            at = after
            offset = section[FIRST] + delta
            if offset < keep_first or offset >= keep_end:
                continue
            timestamp = section[BASE_TIMESTAMP] + delta_ts
            if section[FIXED_TIMESTAMP] != NOT_FIXED:
                timestamp = section[FIXED_TIMESTAMP]
            if run_count == 0 or offset != next_offset or to - run_start + (after - rest) > limit:
                if run_count > 0:
                    _close(runs, used - 1, to, run_count, run_max)
                    if offset < next_offset:
                        return BAD_OFFSET, used
                used += 1
                run_start = to
                to += HEADER_BYTES
                run_count = 0
                run_base = run_max = timestamp
                if used <= len(runs):
                    runs[used - 1, OUT_START], runs[used - 1, RUN_FIRST] = run_start, offset
                    runs[used - 1, RUN_BASE] = run_base
            next_offset = offset + 1
            run_max = max(run_max, timestamp)
            delta_ts = timestamp - run_base
            size = 1 + varint_size(delta_ts) + varint_size(run_count) + after - rest
            if used <= len(runs):
                _put(data, rest, after, attributes, size, delta_ts, run_count, out, to)
            to += varint_size(size) + size
            run_count += 1
        if seen != section[COUNT]:
            return BAD_COUNT, used
    if run_count > 0:
        _close(runs, used - 1, to, run_count, run_max)
    return OK, used


@kernel
def _close(runs: Table, index: int, to: int, count: int, max_timestamp: int) -> None:
    if index < len(runs):
        runs[index, OUT_END], runs[index, RUN_COUNT], runs[index, RUN_MAX] = to, count, max_timestamp


@kernel
def _put(
    data: Bytes, rest: int, after: int, attributes: int, size: int, delta_ts: int, delta: int, out: Bytes, to: int
) -> None:
    """One record: length, attributes, both deltas, then key, value and headers as they stand."""
    to = write_varint(out, to, size)
    out[to] = attributes
    to = write_varint(out, to + 1, delta_ts)
    to = write_varint(out, to, delta)
    copy_bytes(out, to, data, rest, after - rest)
