"""Receipts: which source range became which target range, and what stopped a partition."""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.batch.classify import PASSED

STOPPED = "stopped"
WAITING = "waiting"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`source_first..source_end` (exclusive) stands in the target at `target_first..target_end`.

    `kind` is the batches' class (`passed`), or `stopped`/`waiting` with the reason in `error` and no ranges.
    """

    flow: str
    topic: str
    partition: int
    source_first: int
    source_end: int
    target_first: int
    target_end: int
    last_sequence: int
    records: int
    bytes: int
    kind: str = PASSED
    error: str = ""


class _Run:
    """A range that grows in place: an answer comes for each batch, a receipt goes out once a second."""

    __slots__ = ("bytes", "last_sequence", "records", "source_end", "source_first", "target_end", "target_first")

    def __init__(self, source_first: int, target_first: int) -> None:
        self.source_first = self.source_end = source_first
        self.target_first = self.target_end = target_first
        self.last_sequence = -1
        self.records = self.bytes = 0


class ReceiptBook:
    """Collects what happens to partitions and hands it out as receipts: one a partition and run."""

    def __init__(self, flow: str) -> None:
        self._flow = flow
        self._runs: dict[Place, _Run] = {}
        self._closed: list[Receipt] = []

    def note_copied(
        self, place: Place, source_first: int, target_first: int, *, count: int, size: int, last_sequence: int
    ) -> None:
        """A batch of `count` offsets was appended. It continues the partition's run or begins a new one."""
        run = self._runs.get(place)
        if run is None or run.source_end != source_first or run.target_end != target_first:
            self._close(place)
            run = self._runs[place] = _Run(source_first, target_first)
        run.source_end = source_first + count
        run.target_end = target_first + count
        run.last_sequence = last_sequence
        run.records += count
        run.bytes += size

    def note_fact(self, place: Place, kind: str, error: str) -> None:
        """A partition stopped, waits or is well again."""
        self._close(place)
        self._closed.append(
            Receipt(
                flow=self._flow,
                topic=place[0],
                partition=place[1],
                source_first=-1,
                source_end=-1,
                target_first=-1,
                target_end=-1,
                last_sequence=-1,
                records=0,
                bytes=0,
                kind=kind,
                error=error,
            )
        )

    def take(self) -> list[Receipt]:
        """All receipts since the last call."""
        for place in list(self._runs):
            self._close(place)
        out, self._closed = self._closed, []
        return out

    def _close(self, place: Place) -> None:
        run = self._runs.pop(place, None)
        if run is None:
            return
        self._closed.append(
            Receipt(
                flow=self._flow,
                topic=place[0],
                partition=place[1],
                source_first=run.source_first,
                source_end=run.source_end,
                target_first=run.target_first,
                target_end=run.target_end,
                last_sequence=run.last_sequence,
                records=run.records,
                bytes=run.bytes,
            )
        )
