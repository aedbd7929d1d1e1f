"""Whether a partition's target holds what its source holds, record by record. Pure.

Each record of the traffic has a value of its own within its partition, so a record that is gone, doubled, moved or
nobody's is told apart. On a compacted topic either side may have dropped a record that has a later one of its key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class Findings:
    """How many records were compared and what is wrong with them; `first`: the first difference in words."""

    compared: int = 0
    lost: int = 0
    twice: int = 0
    moved: int = 0
    foreign: int = 0
    first: str = ""

    @property
    def is_equal(self) -> bool:
        return not self.first

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.compared + other.compared,
            self.lost + other.lost,
            self.twice + other.twice,
            self.moved + other.moved,
            self.foreign + other.foreign,
            self.first or other.first,
        )


class Difference(NamedTuple):
    kind: str
    offset: int
    row: Row


def compare_rows(source: Sequence[Row], target: Sequence[Row], until: int, *, compacted: bool = False) -> Findings:
    """Offsets below `until`. Rows above it only tell which keys have a later record."""
    found = sorted(_differences(source, target, until, compacted), key=lambda each: each.offset)
    counts = Counter(each.kind for each in found)
    compared = sum(row.offset < until for row in source)
    first = f"offset {found[0].offset} {found[0].kind}: {_show(found[0].row)}" if found else ""
    return Findings(compared, counts["lost"], counts["twice"], counts["moved"], counts["foreign"], first)


def _differences(source: Sequence[Row], target: Sequence[Row], until: int, compacted: bool) -> Iterator[Difference]:
    at_target = {row.offset: row for row in target}
    known, stands = {row.value for row in source}, {row.value for row in target}
    later_source, later_target = _last_offsets(source), _last_offsets(target)
    for row in source:
        if row.offset >= until or at_target.get(row.offset) == row:
            continue
        if row.value in stands:
            yield Difference("moved", row.offset, row)
        elif not (compacted and later_target.get(row.key, -1) > row.offset):
            yield Difference("lost", row.offset, row)
    seen: set[bytes | None] = set()
    for row in target:
        if row.value in seen:
            yield Difference("twice", row.offset, row)
        elif (
            row.offset < until
            and row.value not in known
            and not (compacted and later_source.get(row.key, -1) > row.offset)
        ):
            yield Difference("foreign", row.offset, row)
        seen.add(row.value)


def _last_offsets(rows: Sequence[Row]) -> dict[bytes | None, int]:
    return {row.key: row.offset for row in rows}


def _show(row: Row) -> str:
    return f"key {row.key!r:.40}, value {row.value!r:.60}, timestamp {row.timestamp}"
