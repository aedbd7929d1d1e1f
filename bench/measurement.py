"""One measured figure set, and the arithmetic on it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MISSING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One scenario of one mirror. `None`: this scenario does not measure it. CPU is of the whole process tree."""

    mirror: str
    scenario: str
    wall_s: float | None = None
    cpu_s: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    worst_ms: float | None = None
    peak_memory_bytes: int | None = None
    records: int | None = None
    surplus: int = 0
    shares: str = MISSING  # passed, rebuilt and hole, in percent of the offsets
    note: str = ""
    error: str = ""


class Counts(NamedTuple):
    """What became of records: `rebuilt` of them were encoded again; `holes` are offsets without one."""

    records: int
    rebuilt: int
    holes: int

    def since(self, before: Counts) -> Counts:
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))

    def shares(self) -> str:
        """Of all offsets."""
        total = self.records + self.holes
        if not total:
            return MISSING
        parts = (self.records - self.rebuilt, self.rebuilt, self.holes)
        return " / ".join(f"{100 * part / total:.0f}" for part in parts)


class Alone(NamedTuple):
    """The load without a mirror: no mirror can be quicker. The producer's CPU shows that the broker sets the pace."""

    wall_s: float
    producer_cpu_s: float


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: a value that was really measured, never one between two."""
    if not values:
        raise ValueError("no values")
    rank = max(1, math.ceil(percent / 100 * len(values)))
    return sorted(values)[rank - 1]


def ratio_text(ours: float | None, theirs: float | None) -> str:
    """`1/8.3`: ours is that part of theirs. `1.4x`: ours is more."""
    if ours is None or theirs is None or ours <= 0 or theirs <= 0:
        return MISSING
    if ours <= theirs:
        return f"1/{_short(theirs / ours)}"
    return f"{_short(ours / theirs)}x"


def surplus_of(expected: Mapping[int, int], found: Mapping[int, int]) -> int:
    """Records beyond those that belong there (duplicates), over all partitions; below 0 if some are missing.

    Partitions are not set off against each other: a missing record is reported even where others came twice.
    """
    differences = [found.get(partition, 0) - end for partition, end in expected.items()]
    missing = sum(d for d in differences if d < 0)
    return missing or sum(differences)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"
