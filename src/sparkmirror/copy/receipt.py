"""Receipts: which source range became which target range, and what stopped a partition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkmirror.batch.classify import PASSED

STOPPED = "stopped"
WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`source_first..source_end` (exclusive) stands in the target at `target_first..target_end`.

    `kind` is the batches' class (`passed`), or `stopped`/`waiting` with the reason in `error`.
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

    __slots__ = ("bytes", "first", "last_sequence", "records", "source_end", "target_end")

    def __init__(self, first: Receipt) -> None:
        self.first = first
        self.source_end = first.source_end
        self.target_end = first.target_end
        self.last_sequence = first.last_sequence
        self.records = first.records
        self.bytes = first.bytes

    def extend(self, later: Receipt) -> bool:
        """Take `later` in, if it continues this range on both sides."""
        if (later.source_first, later.target_first) != (self.source_end, self.target_end):
            return False
        if later.kind != self.first.kind:
            return False
        self.source_end = later.source_end
        self.target_end = later.target_end
        self.last_sequence = later.last_sequence
        self.records += later.records
        self.bytes += later.bytes
        return True

    def close(self) -> Receipt:
        return replace(
            self.first,
            source_end=self.source_end,
            target_end=self.target_end,
            last_sequence=self.last_sequence,
            records=self.records,
            bytes=self.bytes,
        )


class ReceiptBook:
    """Collects receipts and hands them out merged: one a partition and run."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], _Run] = {}
        self._closed: list[Receipt] = []

    def add(self, receipt: Receipt) -> None:
        key = (receipt.topic, receipt.partition)
        run = self._open.get(key)
        if run is None or not run.extend(receipt):
            if run is not None:
                self._closed.append(run.close())
            self._open[key] = _Run(receipt)

    def take(self) -> list[Receipt]:
        out = [*self._closed, *(run.close() for run in self._open.values())]
        self._closed, self._open = [], {}
        return out
