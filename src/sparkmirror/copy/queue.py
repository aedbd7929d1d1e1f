"""What waits to be written to one partition: batches and holes, in the order of the source's log.

In: the answer of a fetch. Out: batches that are ready to be appended, and the holes between them. A hole becomes as
many markers in the target where offsets are equal; where they are translated it is nothing at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparkmirror.batch import scan
from sparkmirror.batch.build import MOST_TOGETHER_BYTES, rebuild, rebuild_legacy, seal
from sparkmirror.batch.codec import MAX_OUTPUT_BYTES
from sparkmirror.batch.damage import refuse_if_damaged
from sparkmirror.batch.header import patch_batch
from sparkmirror.batch.kernel import Bytes
from sparkmirror.batch.legacy import split_messages
from sparkmirror.batch.rewrite import Run
from sparkmirror.copy import facts
from sparkmirror.copy.held import Held
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.fetch import FetchedPartition

PRODUCER_EPOCH = 0
SEQUENCE_MASK = 0x7FFFFFFF
MERGE_BYTES = 896 << 10
LEGACY_BYTES = 2 << 20  # that are opened together
LEGACY_COSTS = 8  # times the work of a batch
MOST_OPENED_BYTES = 256 << 20  # of one fetch; what is left is fetched again
NO_BATCH = memoryview(b"")
LARGEST_RUN_BYTES = 960 << 10  # before compression; under the 1 MB that topics take by default


class Ready(NamedTuple):
    """A batch that waits to be appended, or for its answer. `first..end`: the source offsets of its records."""

    term: int
    first: int
    end: int
    batch: memoryview
    size: int
    sequence: int
    rebuilt: bool

    @property
    def records(self) -> int:
        return self.end - self.first

    @property
    def last_sequence(self) -> int:
        return (self.sequence + self.end - self.first - 1) & SEQUENCE_MASK

    def without_batch(self) -> Ready:
        """What its answer is judged by: the bytes are the socket's."""
        return Ready(self.term, self.first, self.end, NO_BATCH, self.size, self.sequence, self.rebuilt)


class Hole(NamedTuple):
    """Source offsets that hold no record to copy."""

    first: int
    end: int


class Oversized(NamedTuple):
    """A record that the target does not take, in a batch of its own."""

    offset: int
    batch: memoryview


class CopyQueue:
    """One partition's queue. `position`: the next source offset that is neither queued nor passed."""

    def __init__(self, producer_id: int, held: Held | None = None) -> None:
        self.producer_id = producer_id
        self._held = held or Held()
        self._items: deque[Ready | Hole] = deque()
        self.position = 0
        self.sequence = 0
        self.term = 0
        self.fills_holes = True
        self.skip_producers: tuple[int, ...] = ()  # producers whose batches are not copied
        self.largest = scan.NO_LIMIT  # the target refuses batches of more bytes
        self.largest_record = scan.NO_LIMIT  # single records of more bytes are left out
        self.largest_request = scan.NO_LIMIT  # single records of more bytes may not be sent
        self.most_open_bytes = MAX_OUTPUT_BYTES  # what a batch may grow to that must be opened
        self._opened_bytes = 0  # of the fetch at hand, when decompressed
        self.leave_out: set[int] = set()  # records that the target refuses
        self.held_bytes = 0  # of queued batches
        self.held_records = 0  # queued or in flight
        self.widest: Hole | None = None  # of those that were queued since somebody looked
        self.left_out: list[Oversized] = []  # the same of records that are too large
        self.epoch = -1  # the source leader's, when it took the newest batch seen

    def __len__(self) -> int:
        return len(self._items)

    @property
    def run_bytes(self) -> int:
        """How large a batch may become that is written anew."""
        return min(self.largest, LARGEST_RUN_BYTES)

    def shrink(self, refused: int) -> None:
        """The target has refused a batch of so many bytes: make them half as large."""
        self.largest = min(self.largest, refused) // 2

    @property
    def head(self) -> Ready | Hole | None:
        return self._items[0] if self._items else None

    def pop_batch(self) -> Ready:
        item = self._items.popleft()
        assert isinstance(item, Ready)
        self.held_bytes -= item.size
        return item

    def fill(self, count: int) -> None:
        """So many offsets of the hole at the head stand in the target now."""
        if not self._items:
            return
        hole = self._items.popleft()
        assert isinstance(hole, Hole)
        if hole.first + count < hole.end:
            self._items.appendleft(Hole(hole.first + count, hole.end))

    def restart(self, position: int, sequence: int) -> None:
        self.clear()
        self.position, self.sequence = position, sequence

    def clear(self) -> None:
        """Forget what waits; answers to what is in flight belong to an earlier term then."""
        self._items.clear()
        self.held_bytes = self.held_records = 0
        self.widest = None
        self.left_out = []
        self.term += 1

    def hold(self) -> None:
        """Forget what waits, and only that: what is in flight is still answered for."""
        if self._items:
            self.position = self._items[0].first
        self._items.clear()
        self.held_bytes = 0

    def give_back(self) -> None:
        """Forget what waits, to be fetched again; but not a hole at the head, which may be half filled."""
        waiting = [item for item in self._items if isinstance(item, Ready)]
        if not waiting:
            return
        hole = self.head if isinstance(self.head, Hole) else None
        self.position = hole.end if hole else waiting[0].first
        self.sequence = waiting[0].sequence
        self.held_bytes = 0
        self.held_records -= sum(ready.records for ready in waiting)
        self._items = deque([hole] if hole else [])

    def batches(self) -> Iterator[memoryview]:
        return (item.batch for item in self._items if isinstance(item, Ready))

    def move(self, move: Callable[[memoryview], memoryview]) -> None:
        """Let the batches that wait stand elsewhere."""
        self._items = deque(
            item._replace(batch=move(item.batch)) if isinstance(item, Ready) else item for item in self._items
        )

    def add(self, fetched: FetchedPartition, stop_at: int | None) -> None:
        """Queue the batches of a fetch. What was queued before a damaged one stays queued."""
        for offset in sorted(self.leave_out):
            if self.position <= offset and (stop_at is None or offset < stop_at):
                # Batches that pass are written over, and they are looked at again for what comes behind them.
                self._add_up_to(replace(fetched, records=np.array(fetched.records, np.uint8).data), offset)
                if self.position < offset:  # not fetched yet
                    return
                self.add_hole(offset + 1)
        self._add_up_to(fetched, stop_at)

    def _add_up_to(self, fetched: FetchedPartition, stop_at: int | None) -> bool:
        """Whether that was all. What grows too much is left for the next fetch, which begins at the position."""
        self._opened_bytes = 0
        data = np.frombuffer(fetched.records, np.uint8)
        try:
            found = scan.scan_batches(
                data,
                self.position,
                high_watermark=fetched.high_watermark,
                stop_at=stop_at,
                aborted=fetched.aborted,
                skip_producers=self.skip_producers,
                largest=self.largest,
                merge_bytes=min(MERGE_BYTES, self.largest),
            )
        except scan.BadBatchError as bad:
            if self._add_up_to(replace(fetched, records=fetched.records[: bad.readable]), stop_at):
                raise
            return False
        if found.last_epoch >= 0:
            self.epoch = found.last_epoch
        for kind, start, to, _, end in found.parts.tolist():
            if self._opened_bytes > MOST_OPENED_BYTES:
                return False
            if kind == scan.PASS:
                self._pass(fetched.records, found.rows[start].tolist())
            elif kind == scan.HOLE:
                self.add_hole(end)
            elif kind == scan.REWRITE:
                if not self._rewrite(fetched.records, data, found.rows[start:to], stop_at):
                    return False
            else:
                row = found.rows[start]
                if not self._rewrite_legacy(fetched.records[row[scan.START] : row[scan.AFTER]], stop_at):
                    return False
        return True

    def _pass(self, records: memoryview, row: list[int]) -> None:
        start, after, first, end, _, attributes = row[: scan.ATTRIBUTES + 1]
        batch = records[start:after]
        refuse_if_damaged(batch, first)
        patch_batch(batch, attributes, self.producer_id, PRODUCER_EPOCH, self.sequence)
        self._add(first, end, batch, rebuilt=False)

    def _rewrite(self, records: memoryview, data: Bytes, rows: scan.Table, stop_at: int | None) -> bool:
        """Together. Where that fails those that would only be merged pass as they are, whatever they may grow to.

        Others are rewritten by halves, so that what comes before the one that can't be read is queued. Whether more
        may be opened.
        """
        end = int(rows[-1, scan.END])
        stop = end if stop_at is None else min(end, stop_at)
        try:
            runs, opened_bytes = rebuild(
                data,
                rows,
                keep_first=self.position,
                keep_end=stop,
                limit=self.run_bytes,
                max_bytes=self.most_open_bytes,
            )
        except ProtocolError:
            self._opened_bytes += MOST_TOGETHER_BYTES
            if bool((rows[:, scan.KIND] == scan.PASS).all()):
                for row in rows.tolist():
                    self._pass(records, row)
                return True
            if len(rows) == 1:
                raise
            middle = len(rows) // 2
            if not self._rewrite(records, data, rows[:middle], stop_at):
                return False
            return self._rewrite(records, data, rows[middle:], stop_at)
        self._opened_bytes += opened_bytes
        self.add_runs(runs)
        self.add_hole(stop)
        return self._opened_bytes <= MOST_OPENED_BYTES

    def _rewrite_legacy(self, messages: memoryview, stop_at: int | None) -> bool:
        """Some at a time. Whether that was all."""
        last = -1
        for part in split_messages(messages, LEGACY_BYTES):
            if self._opened_bytes > MOST_OPENED_BYTES:
                return False
            runs = rebuild_legacy(
                part,
                after=last,
                keep_first=self.position,
                keep_end=stop_at,
                limit=self.run_bytes,
                max_bytes=self.most_open_bytes,
            )
            self._opened_bytes += LEGACY_COSTS * sum(len(run.batch) for run, _ in runs)
            self.add_runs(runs)
            last = self.position - 1 if runs else last
        return True

    def add_runs(self, runs: list[tuple[Run, int]]) -> None:
        """Queue records that were encoded for this log, each run with its codec, and the holes between them."""
        for run, codec in runs:
            self.add_hole(run.first)
            batch = seal(run, codec, self.producer_id, PRODUCER_EPOCH, self.sequence)
            self._add(run.first, run.first + run.records, batch, rebuilt=True)

    def _add(self, first: int, end: int, batch: memoryview, *, rebuilt: bool) -> None:
        if end - first == 1 and len(batch) > self.largest_record:
            self.left_out.append(Oversized(first, batch))
            self.add_hole(end)
            return
        if end - first == 1 and len(batch) > self.largest_request:
            raise facts.beyond_request(first, len(batch))
        size = len(batch)
        self._items.append(Ready(self.term, first, end, self._held.hold(batch), size, self.sequence, rebuilt))
        self.held_bytes += size
        self.held_records += end - first
        self.sequence = (self.sequence + end - first) & SEQUENCE_MASK
        self.position = end

    def add_hole(self, end: int) -> None:
        """No record up to `end`. Neighbouring holes are one."""
        if end <= self.position:
            return
        if self.fills_holes:
            before = self._items[-1] if self._items else None
            hole = Hole(before.first if isinstance(before, Hole) else self.position, end)
            if isinstance(before, Hole):
                self._items.pop()
            self._items.append(hole)
            self.widest = max(hole, self.widest or hole, key=lambda h: h.end - h.first)
        self.position = end
