"""Reads a range of a partition as columns: large fetches, one after the other, in the order of the log.

    range    first ...................................... end
    log      | records | aborted | marker | records | marker |
    rows       records                      records   (HOLE, if asked for)

What can't be read is a named fact, never silence: a gap that retention left, a log that was cut back, bytes that are
damaged. A reader that writes a log again has these as rows of their own (`batch.notes`), so that one
partition's trouble stays its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkmirror.batch import notes
from sparkmirror.batch.decode_fetch import decode_fetch, offsets_of
from sparkmirror.batch.scan import LEGACY, PART_KIND, Scan, scan_batches
from sparkmirror.copy import facts
from sparkmirror.copy.log_fetcher import PATIENCE_S, LogFetcher
from sparkmirror.errors import ConnectionLostError, MirrorError, ProtocolError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import EARLIEST, LATEST
from sparkmirror.protocol import codes

# Small batches are joined up to this; more rows at a time help nobody.
JOIN_BYTES = 4 << 20


class RowReader:
    """One partition of a cluster. `with_notes`: holes, gaps and faults come as rows instead of errors."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        isolation: int,
        *,
        with_notes: bool = False,
        skip_gaps: bool = False,
    ) -> None:
        self._topic = topic
        self._log = LogFetcher(cluster, topic, partition, isolation)
        self._with_notes = with_notes
        self._skip_gaps = skip_gaps
        self._next = 0  # after the last offset that a row was given for

    def __str__(self) -> str:
        return str(self._log)

    def read(self, first: int | None, end: int) -> Iterator[pa.RecordBatch]:
        """All records in `first..end` (None: from the log's start), some thousand rows at a time."""
        self._next = first or 0
        try:
            self._next = self._log.bound(EARLIEST) if first is None else first
            yield from self._read(self._next, end)
        except (MirrorError, ProtocolError, ConnectionLostError) as error:
            if not self._with_notes:
                raise
            fact = error if isinstance(error, MirrorError) else facts.unread(error)
            yield notes.note_row(notes.FAULT, self._next, max(end, self._next + 1), f"{fact.name}: {fact}")

    def _read(self, position: int, end: int) -> Iterator[pa.RecordBatch]:
        until = time.monotonic() + PATIENCE_S
        while position < end:
            fetched = self._log.fetch(position)
            if fetched.error == codes.OFFSET_OUT_OF_RANGE:
                start = self._after_gap(position, end)
                if self._with_notes:
                    yield notes.note_row(notes.GAP, position, start)
                position = self._next = start
                continue
            found = scan_batches(
                np.frombuffer(fetched.records, np.uint8),
                position,
                high_watermark=fetched.high_watermark,
                stop_at=end,
                aborted=fetched.aborted,
            )
            for rows in _joined(decode_fetch(fetched.records, found, position, end)):
                yield rows
                self._next = int(offsets_of(rows)[-1]) + 1
            reached = max(found.end, self._next) if _has_legacy(found) else found.end
            if reached > position:
                until = time.monotonic() + PATIENCE_S
            elif time.monotonic() > until:
                raise ConnectionLostError(f"{self}: nothing was read at offset {position} for {PATIENCE_S:g} s")
            position = reached
        if self._with_notes and self._next < end:
            yield notes.note_row(notes.HOLE, self._next, end)

    def _after_gap(self, position: int, end: int) -> int:
        """Where the log goes on after what was removed; a log that ends before `position` was cut back."""
        start, log_end = self._log.bound(EARLIEST), self._log.bound(LATEST)
        if position > log_end:
            raise facts.source_truncated(self._topic, position, log_end)
        if start <= position:
            raise ConnectionLostError(f"{self}: the leader refuses offset {position} of {start}..{log_end}")
        if not self._with_notes and not self._skip_gaps:
            raise facts.unread_gap(str(self), position, start)
        return min(start, end)


def _has_legacy(found: Scan) -> bool:
    return bool((found.parts[:, PART_KIND] == LEGACY).any())


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: what is done with one costs the more the fewer rows it has."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= JOIN_BYTES:
            yield _join(waiting)
            waiting, size = [], 0
    if waiting:
        yield _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
