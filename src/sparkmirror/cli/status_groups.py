"""Consumer groups in `sparkmirror status`: one line for all, and a table of those that an operator should see. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sparkmirror.cli.columns import Columns
from sparkmirror.control.log import one_line
from sparkmirror.control.survey_rows import GroupAge

MOST_ROWS = 10
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))

COLUMNS = Columns(
    heads=("GROUP", "CHECKPOINT_AGE", "SYNC_AGE", "WHY"),
    numbers=frozenset(("CHECKPOINT_AGE", "SYNC_AGE")),
    has_long=True,
)


def summary(groups: Sequence[GroupAge], now: float) -> str:
    """Of all groups, the oldest ages and how many have a reason for theirs."""
    well = [group for group in groups if not group.why]
    said = f"{len(groups):,} consumer group{'s' * (len(groups) != 1)}"
    for what, times in (("checkpoints", [g.checkpointed for g in well]), ("syncs", [g.synced for g in well])):
        known = [at for at in times if at is not None]
        said += f", {what} {age(min(known), now)} old" if known else ""
    waiting = len(groups) - len(well)
    return f"{said}, {waiting:,} not up to date" if waiting else said


def rows(groups: Sequence[GroupAge], now: float) -> list[tuple[str, ...]]:
    """Those that are not up to date first, then the oldest ones; no more than fit a screen."""
    ordered = sorted(groups, key=lambda g: (not g.why, g.checkpointed or 0.0, g.synced or 0.0, g.group))
    return [
        (group.group, age(group.checkpointed, now), age(group.synced, now), one_line(group.why))
        for group in ordered[:MOST_ROWS]
    ]


def rest(groups: Sequence[GroupAge]) -> str:
    more = len(groups) - MOST_ROWS
    return f"  and {more:,} more: --json has all" if more > 0 else ""


def age(at: float | None, now: float) -> str:
    if at is None:
        return "-"
    seconds = max(0, round(now - at))
    return next((f"{seconds // size}{unit}" for unit, size in _UNITS if seconds >= 2 * size), f"{seconds}s")
