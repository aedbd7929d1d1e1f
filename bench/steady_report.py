"""Steady traffic as rows of text: of several measurements the middle one, and how far they lie apart. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from bench.layouts import LAYOUTS
from bench.measurement import MISSING, Steady, ratio_text
from bench.report import OURS, Rows, check_text

STEADY_COLUMNS = (
    "traffic",
    "tasks.max",
    "mirror",
    "cores",
    "CPU s/GB",
    "p50 ms",
    "p99 ms",
    "worst ms",
    "memory MB",
    "wake-ups/s",
    "check",
)
STEADY_RATIO_COLUMNS = ("traffic", "tasks.max", "ours", "against", "CPU", "p50", "p99", "memory")

Value = Callable[[Steady], float | None]

_SAME_SETTINGS = {OURS: "mm2", "sparkmirror-tuned": "mm2-tuned"}
_ORDER = [traffic.name for layout in LAYOUTS.values() for traffic in (*layout.traffic, layout.warm_up)]


def steady_rows(measurements: Sequence[Steady]) -> Rows:
    """Those of one kind are one row: the middle value, and in brackets the lowest and the highest."""
    return [
        (
            traffic,
            str(tasks),
            mirror,
            _spread(found, lambda m: m.cores, 3),
            _spread(found, lambda m: m.cpu_s_per_gb, 2),
            _spread(found, lambda m: m.p50_ms, 1),
            _spread(found, lambda m: m.p99_ms, 1),
            _spread(found, lambda m: m.worst_ms, 0),
            _spread(found, lambda m: m.memory_bytes and m.memory_bytes / 1e6, 0),
            _spread(found, lambda m: m.wake_ups_s, 0),
            _check(found),
        )
        for (traffic, tasks, mirror), found in _kinds(measurements).items()
    ]


def steady_ratio_rows(measurements: Sequence[Steady]) -> Rows:
    """Ours against MirrorMaker 2 with the same settings, turn by turn: the middle ratio, the best and the worst."""
    kinds = _kinds(m for m in measurements if not m.error)
    values: list[Value] = [lambda m: m.cores, lambda m: m.p50_ms, lambda m: m.p99_ms, lambda m: m.memory_bytes]
    return [
        (traffic, str(tasks), ours, theirs, *(_ratios(found, against, value) for value in values))
        for (traffic, tasks, ours), found in kinds.items()
        if (theirs := _SAME_SETTINGS.get(ours)) and (against := kinds.get((traffic, tasks, theirs)))
    ]


def _kinds(measurements: Iterable[Steady]) -> dict[tuple[str, int, str], list[Steady]]:
    kinds: dict[tuple[str, int, str], list[Steady]] = {}
    for m in sorted(measurements, key=lambda m: (_ORDER.index(m.traffic), m.tasks)):
        kinds.setdefault((m.traffic, m.tasks, m.mirror), []).append(m)
    return kinds


def _spread(found: Sequence[Steady], value: Value, digits: int) -> str:
    values = [known for m in found if (known := value(m)) is not None]
    if not values:
        return MISSING
    middle = f"{median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"


def _check(found: Sequence[Steady]) -> str:
    """The worst that any of them says."""
    texts = {check_text(m) for m in found}
    return next((text for text in sorted(texts) if text != "exact"), "exact")


def _ratios(ours: Sequence[Steady], theirs: Sequence[Steady], value: Value) -> str:
    pairs = [(a, b) for a, b in zip(map(value, ours), map(value, theirs), strict=False) if a and b]
    if not pairs:
        return MISSING
    ordered = sorted(pairs, key=lambda pair: pair[0] / pair[1])
    middle = ratio_text(*ordered[len(ordered) // 2])
    return middle if len(pairs) == 1 else f"{middle} ({ratio_text(*ordered[0])} to {ratio_text(*ordered[-1])})"
