"""Measurements as rows of text, for the terminal and for the file alike. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bench.measurement import MISSING, Measurement, Steady, ratio_text
from bench.sizes import SCENARIOS

OURS = "sparkmirror"

COLUMNS = (
    "scenario",
    "mirror",
    "wall s",
    "CPU s",
    "p50 ms",
    "p99 ms",
    "worst ms",
    "peak memory MB",
    "records",
    "check",
    "passed/rebuilt/hole %",
    "note",
)
RATIO_COLUMNS = ("scenario", "sparkmirror against", "wall", "CPU", "p50", "p99", "worst", "peak memory")
LEFT = frozenset({"scenario", "mirror", "check", "note", "sparkmirror against"})

Rows = list[tuple[str, ...]]


def result_rows(measurements: Sequence[Measurement]) -> Rows:
    """Scenario by scenario, the mirrors of each below each other."""
    ordered = sorted(measurements, key=lambda m: SCENARIOS.index(m.scenario))
    return [_result_row(m) for m in ordered]


def _result_row(m: Measurement) -> tuple[str, ...]:
    return (
        m.scenario,
        m.mirror,
        _number(m.wall_s, 2),
        _number(m.cpu_s, 2),
        _number(m.p50_ms, 1),
        _number(m.p99_ms, 1),
        _number(m.worst_ms, 1),
        _number(m.peak_memory_bytes and m.peak_memory_bytes / 1e6, 0),
        MISSING if m.records is None else f"{m.records:,}",
        check_text(m),
        m.shares,
        m.note,
    )


def check_text(m: Measurement | Steady) -> str:
    """What the target's end offsets say."""
    if m.error:
        return "FAILED"
    if m.records is None:
        return MISSING
    if m.surplus > 0:
        return f"{m.surplus:,} DUPLICATES"
    return f"{-m.surplus:,} MISSING" if m.surplus else "exact"


def ratio_rows(measurements: Sequence[Measurement]) -> Rows:
    """Ours against each other one, where both have been measured."""
    good = {(m.scenario, m.mirror): m for m in measurements if not m.error}
    rows = []
    for scenario in SCENARIOS:
        ours = good.get((scenario, OURS))
        others = [m for (of, mirror), m in good.items() if of == scenario and mirror != OURS]
        rows += [_ratio_row(ours, theirs) for theirs in others if ours]
    return rows


def _ratio_row(ours: Measurement, theirs: Measurement) -> tuple[str, ...]:
    return (
        ours.scenario,
        theirs.mirror,
        ratio_text(ours.wall_s, theirs.wall_s),
        ratio_text(ours.cpu_s, theirs.cpu_s),
        ratio_text(ours.p50_ms, theirs.p50_ms),
        ratio_text(ours.p99_ms, theirs.p99_ms),
        ratio_text(ours.worst_ms, theirs.worst_ms),
        ratio_text(ours.peak_memory_bytes, theirs.peak_memory_bytes),
    )


def terminal_table(title: str, columns: Sequence[str], rows: Rows) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in LEFT else "right")
    for number, row in enumerate(rows):
        last = number + 1 == len(rows) or rows[number + 1][0] != row[0]
        table.add_row(*row, end_section=last)
    return table


def markdown_table(columns: Sequence[str], rows: Rows) -> str:
    rules = ("---" if column in LEFT else "---:" for column in columns)
    lines = [columns, tuple(rules), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _number(value: float | None, digits: int) -> str:
    return MISSING if value is None else f"{value:,.{digits}f}"
