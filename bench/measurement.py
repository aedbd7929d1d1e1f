"""One measured figure set, and the arithmetic on it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """One mirror under steady traffic, once. CPU in cores, also as seconds a GB of records."""

    mirror: str
    traffic: str
    tasks: int
    cores: float | None = None
    cpu_s_per_gb: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    worst_ms: float | None = None
    memory_bytes: int | None = None
    wake_ups_s: float | None = None
    records: int | None = None
    surplus: int = 0
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


def middle_of(bursts: Sequence[Measurement]) -> Measurement:
    """Of several of the same kind that with the middle CPU time. Memory is the most that any took."""
    by_cpu = sorted(bursts, key=lambda m: m.cpu_s or 0.0)
    middle = by_cpu[(len(by_cpu) - 1) // 2]
    if len(bursts) == 1:
        return middle
    all_of_them = ", ".join(f"{m.cpu_s or 0.0:.2f}" for m in bursts)
    return replace(
        middle,
        peak_memory_bytes=max(m.peak_memory_bytes or 0 for m in bursts),
        surplus=bursts[-1].surplus,  # counted over the whole topic
        note=f"{middle.note}; CPU of all: {all_of_them} s",
    )


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
