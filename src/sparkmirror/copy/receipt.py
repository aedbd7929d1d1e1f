"""Receipts: which source range became which target range, and what stopped a partition."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing

COPIED = "copied"
STOPPED = "stopped"  # a fact forbids to go on
WAITING = "waiting"  # passes by itself
NOTED = "noted"  # a fact that a policy tolerates
GOES_ON = "goes-on"  # what stopped it is gone
SKIPPED = "skipped"  # records that can't be copied were left out
SAID = "said"  # a line for the log, and no more
PASSED = "passed"  # a fact that somebody accepted
MAPPED = "mapped"  # was copied earlier; only now it is known what stands where
_OF_NOW = (STOPPED, WAITING, GOES_ON, MAPPED)

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`source_first..source_end` (exclusive) stands in the target at `target_first..target_end`.

    `kind` says what happened. Facts have their text in `error` and no ranges. Of `records`, `rebuilt` were encoded
    again; `holes` are offsets without a record, and `fill_ms` is how long their filling held up the partition;
    `skipped` are records that were left out.
    """

    flow: str
    topic: str
    partition: int
    kind: str
    source_first: int = -1
    source_end: int = -1
    target_first: int = -1
    target_end: int = -1
    records: int = 0
    rebuilt: int = 0
    holes: int = 0
    fill_ms: int = 0
    skipped: int = 0
    bytes: int = 0
    stands: str = ""  # where the partition stood then, as JSON
    error: str = ""

    @property
    def is_news(self) -> bool:
        """Heartbeats come every second, also where nothing else happens."""
        return not looks_like_heartbeats(self.topic)

    @property
    def standing(self) -> Standing | None:
        return Standing(*json.loads(self.stands)) if self.stands else None

    @property
    def run(self) -> Run | None:
        """None if it tells of no records' places."""
        if self.target_first < 0:
            return None
        return Run(self.source_first, self.target_first, self.source_end - self.source_first)

    def late(self) -> Receipt | None:
        """What is left of it when others may copy the partition: what was done, and not where or how it stands."""
        if self.kind in _OF_NOW:
            return None
        return replace(self, source_first=-1, source_end=-1, target_first=-1, target_end=-1, stands="")


RECEIPT_FIELDS = tuple(field.name for field in fields(Receipt))
_values_of = attrgetter(*RECEIPT_FIELDS)


def to_row(receipt: Receipt) -> tuple[Any, ...]:
    """Its fields' values, for a way that keeps no names."""
    return _values_of(receipt)


def from_row(row: Iterable[Any]) -> Receipt:
    return Receipt(**dict(zip(RECEIPT_FIELDS, row, strict=True)))


class _Run:
    """A range that grows in place: an answer comes for each batch, a receipt goes out once a second."""

    __slots__ = (
        "bytes", "fill_s", "holes", "rebuilt", "records", "source_end", "source_first", "standing", "target_end",
        "target_first",
    )  # fmt: skip

    def __init__(self, source_first: int, target_first: int) -> None:
        self.source_first = self.source_end = source_first
        self.target_first = self.target_end = target_first
        self.standing: Standing | None = None
        self.records = self.rebuilt = self.holes = self.bytes = 0
        self.fill_s = 0.0


class ReceiptBook:
    """Collects what happens to partitions and hands it out as receipts: one a partition and run."""

    def __init__(self, flow: str) -> None:
        self._flow = flow
        self._runs: dict[Place, _Run] = {}
        self._closed: list[Receipt] = []
        self._skipped: dict[Place, tuple[int, str]] = {}

    def note_copied(
        self,
        place: Place,
        source_first: int,
        target_first: int,
        *,
        count: int,
        size: int,
        rebuilt: int,
        standing: Standing | None,
    ) -> None:
        """`count` records were appended, `rebuilt` of them written anew. They continue the run, or begin one."""
        run = self._extend(place, source_first, target_first, count, standing)
        run.records += count
        run.rebuilt += rebuilt
        run.bytes += size

    def note_filled(
        self,
        place: Place,
        source_first: int,
        target_first: int,
        *,
        count: int,
        waited_s: float,
        standing: Standing | None,
    ) -> None:
        """So many offsets of a hole were filled."""
        run = self._extend(place, source_first, target_first, count, standing)
        run.holes += count
        run.fill_s += waited_s

    def note_mapped(self, place: Place, runs: Iterable[Run], standing: Standing | None) -> None:
        """These were appended by somebody who could not say it any more."""
        for run in runs:
            self._closed.append(
                self._receipt(
                    place,
                    MAPPED,
                    source_first=run.source,
                    source_end=run.source_end,
                    target_first=run.target,
                    target_end=run.target_end,
                    stands=_encode(standing),
                )
            )

    def note_holes(self, place: Place, count: int, standing: Standing | None) -> None:
        """So many offsets of holes were passed over: the target's offsets are the smaller ones from here on."""
        run = self._runs.get(place)
        if run is None:
            self._closed.append(self._receipt(place, COPIED, holes=count, stands=_encode(standing)))
        else:
            run.holes += count
            run.standing = standing

    def note_standing(self, place: Place, standing: Standing | None) -> None:
        """Nothing was copied, and more is known of where it stands."""
        self.note_holes(place, 0, standing)

    def note_fact(self, place: Place, kind: str, error: str) -> None:
        """A partition stopped, waits or is well again."""
        self._close(place)
        self._closed.append(self._receipt(place, kind, error=error))

    def note_skipped(self, place: Place, error: str) -> None:
        """A record was left out; of several the last one is told of."""
        self._skipped[place] = (self._skipped.get(place, (0, ""))[0] + 1, error)

    def take(self) -> list[Receipt]:
        """All receipts since the last call."""
        for place, (count, error) in self._skipped.items():
            self._closed.append(self._receipt(place, SKIPPED, skipped=count, error=error))
        self._skipped.clear()
        for place in list(self._runs):
            self._close(place)
        out, self._closed = self._closed, []
        return out

    def _extend(
        self, place: Place, source_first: int, target_first: int, count: int, standing: Standing | None
    ) -> _Run:
        run = self._runs.get(place)
        if run is None or run.source_end != source_first or run.target_end != target_first:
            self._close(place)
            run = self._runs[place] = _Run(source_first, target_first)
        run.source_end = source_first + count
        run.target_end = target_first + count
        run.standing = standing
        return run

    def _close(self, place: Place) -> None:
        run = self._runs.pop(place, None)
        if run is not None:
            self._closed.append(
                self._receipt(
                    place,
                    COPIED,
                    source_first=run.source_first,
                    source_end=run.source_end,
                    target_first=run.target_first,
                    target_end=run.target_end,
                    records=run.records,
                    rebuilt=run.rebuilt,
                    holes=run.holes,
                    fill_ms=round(run.fill_s * 1000),
                    bytes=run.bytes,
                    stands=_encode(run.standing),
                )
            )

    def _receipt(self, place: Place, kind: str, **fields: int | str) -> Receipt:
        return Receipt(flow=self._flow, topic=place[0], partition=place[1], kind=kind, **fields)  # type: ignore[arg-type]


def _encode(standing: Standing | None) -> str:
    return json.dumps(standing) if standing else ""
