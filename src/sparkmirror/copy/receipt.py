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

    def extended(self, later: Receipt) -> Receipt | None:
        """Both as one, if `later` continues this one on both sides; None if it does not."""
        if (later.source_first, later.target_first, later.kind) != (
            self.source_end,
            self.target_end,
            self.kind,
        ):
            return None
        return replace(
            self,
            source_end=later.source_end,
            target_end=later.target_end,
            last_sequence=later.last_sequence,
            records=self.records + later.records,
            bytes=self.bytes + later.bytes,
        )


class ReceiptBook:
    """Collects receipts and hands them out merged: one a partition and run."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Receipt] = {}
        self._closed: list[Receipt] = []

    def add(self, receipt: Receipt) -> None:
        key = (receipt.topic, receipt.partition)
        last = self._open.get(key)
        merged = last.extended(receipt) if last else None
        if last and not merged:
            self._closed.append(last)
        self._open[key] = merged or receipt

    def take(self) -> list[Receipt]:
        out = [*self._closed, *self._open.values()]
        self._closed, self._open = [], {}
        return out
