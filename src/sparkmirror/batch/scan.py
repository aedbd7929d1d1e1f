"""Walks the batches of a fetch and says what each needs before it can stand in the target's log.

    source log   | 10..19 | 20..24 | marker 25 | 26..30, aborted | marker 31 |   | 34..40, 36 compacted away |
    position 12     ^
    parts         REWRITE   PASS     HOLE 25..33 ------------------------------ >  REWRITE

    PASS     the batch can be appended as it is: only header fields change
    REWRITE  its records must be encoded again: it begins before the position or ends after the stop, has holes
             inside, its timestamps are the broker's, it is larger than the target takes; or it is one of several
             that are better appended as one (a produce request takes one batch a partition)
    HOLE     offsets without a record to copy: markers, aborted data, what compaction or a gap left
    LEGACY   message formats 0 and 1, up to the first batch of format 2: their offsets are known once parsed

Neighbours of one kind become one part where that makes sense, so that Python works once a part and never
once a small batch. Only headers are read here; nothing is decompressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.header import HEADER_BYTES, LENGTH_FROM
from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.batch.varint import FAILED, read_varint
from sparkmirror.errors import ProtocolError

PASS, REWRITE, HOLE, LEGACY = range(4)

# Columns of the table of batches. A hole has no bytes; legacy messages have only bytes.
START, AFTER, FIRST, END, COUNT, ATTRIBUTES, BASE_TIMESTAMP, MAX_TIMESTAMP, EPOCH, KIND = range(10)
COLUMNS = 10
# Columns of the table of parts: rows of the first table from FROM to TO, and the offsets that they cover.
PART_KIND, FROM, TO, PART_FIRST, PART_END = range(5)
PART_COLUMNS = 5

Table = NDArray[np.int64]

# Batches under this are worth a copy if that spares a request: a microsecond for 40 records or 30 KB, where a request
# costs fifty and more. To compress again costs far more than to copy.
SMALL_BYTES, FEW_RECORDS = 256 << 10, 1000
SMALL_COMPRESSED_BYTES = 1 << 10
NO_LIMIT = 1 << 30
_ANY_OFFSET = 1 << 62  # no log has as many

_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_ABORT = 0
_SHORTEST = 14  # an empty message of format 0: CRC, magic, attributes, two null lengths

OK, BAD_LENGTH, BAD_HEADER, BAD_MARKER, BACKWARDS, BEYOND = range(6)
_MEANINGS = {
    BAD_LENGTH: "says a length that no batch can have",
    BAD_HEADER: "has a header that contradicts itself",
    BAD_MARKER: "is a transaction marker that can't be read",
    BACKWARDS: "begins before the batch in front of it ends",
    BEYOND: "begins behind the high watermark, and offsets are missing before it",
}


class BadBatchError(ProtocolError):
    """It begins at byte `at`. What stands before `readable` can be read."""

    def __init__(self, at: int, why: str, readable: int) -> None:
        super().__init__(f"the batch at byte {at} of a fetch {why}")
        self.readable = readable


@dataclass(frozen=True, slots=True)
class Scan:
    """What a fetch holds from a position on."""

    rows: Table
    parts: Table
    end: int  # the position after all of it
    last_epoch: int  # leader epoch of the last batch, -1 if there is none


def scan_batches(
    data: Bytes,
    position: int,
    *,
    high_watermark: int = _ANY_OFFSET,
    stop_at: int | None = None,
    aborted: Sequence[tuple[int, int]] = (),
    skip_producers: Sequence[int] = (),
    largest: int = NO_LIMIT,
    merge_bytes: int = NO_LIMIT,
) -> Scan:
    """Classify the whole batches of a fetch; what lies before `position` or from `stop_at` on is left out.

    `aborted` lists (producer id, first offset) of aborted transactions, as a read-committed fetch has them. Batches of
    `skip_producers` are holes, too. Batches of more than `largest` bytes are rewritten, in pieces. A broker may cut the
    last batch off: it is left for the next fetch.

    No checksum covers where a batch begins. Where that is wrong there seems to be a hole, and all records in it would
    be passed over: so none ends behind the `high_watermark` of the same answer. (Batches may, by those that came since
    the broker looked at it.)
    """
    ended = sorted(aborted, key=lambda item: item[1])
    pids = np.array([pid for pid, _ in ended], np.int64)
    firsts = np.array([first for _, first in ended], np.int64)
    known = np.unique(pids) if ended else pids
    others = np.array(skip_producers, np.int64)
    rows = np.empty((max(16, len(data) // 256), COLUMNS), np.int64)
    stop = _ANY_OFFSET if stop_at is None else stop_at
    while True:
        error, used, end, epoch, at = walk_batches(
            data, position, high_watermark, stop, pids, firsts, known, others, largest, rows
        )
        if used <= len(rows):
            break
        rows = np.empty((used, COLUMNS), np.int64)
    if error:
        # Of two that contradict each other either may be wrong: then what seems to be a hole before them is none.
        raise BadBatchError(at, _MEANINGS[error], 0 if error == BACKWARDS else at)
    rows = rows[:used]
    parts = np.empty((used, PART_COLUMNS), np.int64)
    return Scan(rows, parts[: group_rows(rows, merge_bytes, parts)], end, epoch)


@kernel
def big_endian(data: Bytes, at: int, size: int) -> int:
    value = 0
    for i in range(size):
        value = (value << 8) | int(data[at + i])
    bits = 64 - 8 * size
    return (value << bits) >> bits


@kernel
def walk_batches(
    data: Bytes,
    position: int,
    high_watermark: int,
    stop: int,
    pids: Table,
    firsts: Table,
    known: Table,
    others: Table,
    largest: int,
    rows: Table,
) -> tuple[int, int, int, int, int]:
    """Fill `rows`; answers an error, the rows (needed, if more than there are), the end, the epoch, a place."""
    size = len(data)
    at = used = 0
    epoch = -1
    legacy = -1  # where a run of old messages begins: what follows it is left for the next fetch
    begun = np.zeros(len(known), np.int64)  # transactions that will be aborted, by their producer's place in `known`
    joined = 0
    while size - at >= 17:
        after = at + LENGTH_FROM + big_endian(data, at + 8, 4)
        if after - at - LENGTH_FROM < _SHORTEST:
            return BAD_LENGTH, used, position, epoch, at
        if after > size:
            break
        magic = data[at + 16]
        first = big_endian(data, at, 8)
        if magic < 2:
            legacy = at if legacy < 0 else legacy
            at = after
            continue
        if legacy >= 0:
            break
        if after - at < HEADER_BYTES or magic > 2:
            return BAD_HEADER, used, position, epoch, at
        attributes = big_endian(data, at + 21, 2)
        last_delta = big_endian(data, at + 23, 4)
        count = big_endian(data, at + 57, 4)
        if first < 0 or first >= _ANY_OFFSET or last_delta < 0 or count < 0 or count > last_delta + 1:
            return BAD_HEADER, used, position, epoch, at
        end = first + last_delta + 1
        pid = big_endian(data, at + 43, 8)
        while joined < len(pids) and firsts[joined] < end:
            begun[np.searchsorted(known, pids[joined])] += 1
            joined += 1
        is_control = attributes & _CONTROL
        marker = -1
        if is_control and count > 0:  # compaction may have taken its record
            marker = _marker_type(data, at + HEADER_BYTES, after)
            if marker < 0 or count > 1:
                return BAD_MARKER, used, position, epoch, at
        is_aborted = False
        if attributes & _TRANSACTIONAL and joined > 0:
            place = np.searchsorted(known, pid)
            if place < len(known) and known[place] == pid and begun[place] > 0:
                is_aborted = True
                if marker == _ABORT:
                    begun[place] -= 1
        is_skipped = False
        for i in range(len(others)):
            is_skipped = is_skipped or others[i] == pid
        if first < position and used > 0:
            return BACKWARDS, used, position, epoch, at
        if end <= position:
            at = after
            continue
        if first > position and first >= high_watermark:
            return BEYOND, used, position, epoch, at
        if first >= stop:
            if position < stop:
                used = _add_hole(rows, used, position, stop)
                position = stop
            break
        if first > position:
            used = _add_hole(rows, used, position, first)
        if is_control or is_aborted or is_skipped or count == 0:
            used = _add_hole(rows, used, max(first, position), min(end, stop))
        else:
            whole = first >= position and end <= stop and count == last_delta + 1
            passes = whole and not attributes & _LOG_APPEND_TIME and after - at <= largest
            if used < len(rows):
                row = rows[used]
                row[START], row[AFTER], row[FIRST], row[END] = at, after, first, end
                row[COUNT], row[ATTRIBUTES] = count, attributes
                row[BASE_TIMESTAMP] = big_endian(data, at + 27, 8)
                row[MAX_TIMESTAMP] = big_endian(data, at + 35, 8)
                row[EPOCH] = big_endian(data, at + 12, 4)
                row[KIND] = PASS if passes else REWRITE
            used += 1
        epoch = big_endian(data, at + 12, 4)
        position = min(end, stop)
        at = after
    if legacy >= 0:
        if used < len(rows):
            rows[used] = 0
            rows[used, START], rows[used, AFTER], rows[used, KIND] = legacy, at, LEGACY
            rows[used, FIRST] = rows[used, END] = position
        used += 1
    return OK, used, position, epoch, at


@kernel
def _add_hole(rows: Table, used: int, first: int, end: int) -> int:
    if 0 < used <= len(rows) and rows[used - 1, KIND] == HOLE and rows[used - 1, END] == first:
        rows[used - 1, END] = end
        return used
    if used < len(rows):
        rows[used] = 0
        rows[used, FIRST], rows[used, END], rows[used, KIND] = first, end, HOLE
    return used + 1


@kernel
def _marker_type(data: Bytes, at: int, end: int) -> int:
    """0 abort, 1 commit; `FAILED` if it can't be read. The type stands in the key: version, type (int16 each)."""
    for field in range(4):  # length, (attributes), timestamp delta, offset delta, key length
        if field == 1:
            at += 1
        value, at = read_varint(data, at, end)
        if at == FAILED:
            return FAILED
    if value < 4 or at + 4 > end:
        return FAILED
    return big_endian(data, at + 2, 2)


@kernel
def group_rows(rows: Table, merge_bytes: int, parts: Table) -> int:
    """Join neighbours of one codec up to `merge_bytes`: small batches, and what is rewritten anyway."""
    used = 0
    taken = 0
    for i in range(len(rows)):
        size = rows[i, AFTER] - rows[i, START]
        if used > 0 and _joins(rows[i - 1]) and _joins(rows[i]) and taken + size <= merge_bytes:
            part = parts[used - 1]
            if rows[i - 1, ATTRIBUTES] & _CODEC == rows[i, ATTRIBUTES] & _CODEC:
                part[PART_KIND] = REWRITE
                part[TO] = i + 1
                part[PART_END] = rows[i, END]
                taken += size
                continue
        parts[used, PART_KIND] = rows[i, KIND]
        parts[used, FROM] = i
        parts[used, TO] = i + 1
        parts[used, PART_FIRST] = rows[i, FIRST]
        parts[used, PART_END] = rows[i, END]
        taken = size
        used += 1
    return used


@kernel
def _joins(row: Table) -> bool:
    if row[KIND] == PASS:
        small = SMALL_COMPRESSED_BYTES if row[ATTRIBUTES] & _CODEC else SMALL_BYTES
        return bool(row[AFTER] - row[START] < small and row[COUNT] <= FEW_RECORDS)
    return bool(row[KIND] == REWRITE)
