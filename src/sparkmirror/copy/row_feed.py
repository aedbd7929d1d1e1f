"""Rows on their way into one partition: held until the target has them, since after a lost answer they go again.

    pieces   | queued, unanswered | queued | not yet queued |  <- offer
             ^ dropped once appended       ^ peek, advance

Where the target's log ends before the rows begin, a backlog from the source goes in between: what is offered meanwhile
waits behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkmirror.batch.build import seal
from sparkmirror.batch.decode_fetch import keep_offsets, offsets_of
from sparkmirror.batch.encode_rows import build_runs
from sparkmirror.batch.header import read_header
from sparkmirror.batch.records import read_records
from sparkmirror.copy import facts
from sparkmirror.copy.tail import Batch, content_of

RECORDS = 0


class Piece(NamedTuple):
    """Rows one after the other, or a note (`batch.notes`) of the offsets `first..end`."""

    kind: int
    first: int
    end: int
    rows: pa.RecordBatch

    @property
    def text(self) -> str:
        return (self.rows.column("value")[0].as_py() or b"").decode()


class RowFeed:
    """`base`: the number of the first row, where rows have none of their own; None: their `offset` is it.

    `with_notes`: some rows are no records.
    """

    def __init__(self, partition: str, base: int | None, *, with_notes: bool) -> None:
        self._partition = partition
        self._split = _split_notes if with_notes else _whole
        self._numbered = base is not None
        self.next = -1 if base is None else base  # the number after the last row that was offered
        self.held_bytes = 0
        self.backlog: Iterator[pa.RecordBatch] | None = None
        self._pieces: deque[Piece] = deque()
        self._queued = 0
        self._late: deque[Piece] = deque()

    def offer(self, rows: pa.RecordBatch) -> None:
        """The next rows of the partition."""
        if self._numbered:
            rows = _numbered(rows, self.next)
        offsets = offsets_of(rows)
        falls = np.flatnonzero(np.diff(offsets, prepend=self.next - 1) <= 0)
        if len(falls):
            raise facts.disordered_rows(
                self._partition, int(offsets[falls[0] - 1]) if falls[0] else self.next - 1, int(offsets[falls[0]])
            )
        self.next = int(offsets[-1]) + 1
        self._hold(rows, self._late if self.backlog else self._pieces)

    def take_backlog(self) -> None:
        """Some more of the backlog; at its end what was offered follows."""
        assert self.backlog is not None
        rows = next(self.backlog, None)
        if rows is not None:
            self._hold(rows, self._pieces)
            return
        self.backlog = None
        self._pieces.extend(self._late)
        self._late.clear()

    def begin_backlog(self, backlog: Iterator[pa.RecordBatch]) -> None:
        if self.backlog is None:
            self._late = self._pieces
        else:
            self.held_bytes -= sum(piece.rows.nbytes for piece in self._pieces)
        self._pieces = deque()
        self._queued = 0
        self.backlog = backlog

    @property
    def is_empty(self) -> bool:
        return not self._pieces and not self._late and self.backlog is None

    @property
    def is_waiting(self) -> bool:
        """Whether there is anything that a position is needed for."""
        return bool(self._pieces or self._late)

    @property
    def first(self) -> int | None:
        """Where what is held begins."""
        return self._pieces[0].first if self._pieces else None

    @property
    def first_timestamp(self) -> int:
        """That of the first row that is held; -1 if it has none."""
        rows = self._pieces[0].rows
        at = rows.schema.get_field_index("timestamp")
        found = rows.column(at)[0].as_py() if at >= 0 else None
        return -1 if found is None else int(found)

    def peek(self) -> Piece | None:
        return self._pieces[self._queued] if self._queued < len(self._pieces) else None

    def advance(self) -> None:
        self._queued += 1

    def rewind(self) -> None:
        """All that is held has to be queued again."""
        self._queued = 0

    def drop_before(self, position: int) -> None:
        """The target has everything before `position`."""
        while self._queued and self._pieces[0].end <= position:
            self.held_bytes -= self._pieces.popleft().rows.nbytes
            self._queued -= 1

    def drop_all(self) -> None:
        self._pieces.clear()
        self._late.clear()
        self._queued = self.held_bytes = 0
        self.backlog = None

    def _hold(self, rows: pa.RecordBatch, where: deque[Piece]) -> None:
        for piece in self._split(rows):
            where.append(piece)
            self.held_bytes += piece.rows.nbytes


class TailCheck:
    """The target's last batch, against rows that are there already: what comes again must be the same.

    `end`: the number behind the row of the batch's last record. What compaction has removed is not compared.
    """

    def __init__(self, partition: str, tail: Batch, end: int) -> None:
        self._partition = partition
        self._by_time = tail.by_time
        header = tail.header
        self.first, self.end = end - (header.end - header.first), end
        self._wanted = {record.offset - header.first: content_of(record, self._by_time) for record in tail.records}

    def take(self, rows: pa.RecordBatch) -> None:
        rows = keep_offsets(rows, self.first, self.end)
        for run, codec in build_runs(rows, codec=0, limit=1 << 30):
            batch = seal(run, codec, -1, -1, -1)
            for number, record in enumerate(read_records(read_header(batch), batch), run.first - self.first):
                if number in self._wanted and self._wanted[number] != content_of(record, self._by_time):
                    raise facts.other_rows(self._partition, self.first, self.end)


def _numbered(rows: pa.RecordBatch, first: int) -> pa.RecordBatch:
    numbers = np.arange(first, first + rows.num_rows, dtype=np.int64)
    column = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
    at = rows.schema.get_field_index("offset")
    if at < 0:
        return rows.append_column("offset", column)
    return rows.set_column(at, "offset", column)


def _whole(rows: pa.RecordBatch) -> Iterator[Piece]:
    offsets = offsets_of(rows)
    yield Piece(RECORDS, int(offsets[0]), int(offsets[-1]) + 1, rows)


def _split_notes(rows: pa.RecordBatch) -> Iterator[Piece]:
    """Notes stand alone, the records between them together."""
    kinds = rows.column("timestamp_type")
    values = np.frombuffer(kinds.buffers()[1], np.int32)[kinds.offset : kinds.offset + len(kinds)]
    noted = np.flatnonzero(values < 0).tolist()
    offsets = offsets_of(rows)
    for begin, end in pairwise([0, *(edge for row in noted for edge in (row, row + 1)), rows.num_rows]):
        if begin == end:
            continue
        part = rows.slice(begin, end - begin)
        kind = int(values[begin]) if begin in noted else RECORDS
        first = part.column("timestamp")[0].as_py() if begin in noted else int(offsets[begin])
        yield Piece(kind, first, int(offsets[end - 1]) + 1, part)
