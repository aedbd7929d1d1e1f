"""`sparkmirror failover` and `failback`: consumer groups go over to the other cluster, with a report of each offset."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.flows import choose_flow
from sparkmirror.cli.output import complain, draw_parts, say, say_json
from sparkmirror.cli.patience import telling
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.log import one_line, timestamp
from sparkmirror.control.switch import FAILOVER, Order, Switch
from sparkmirror.control.switch_report import MissingRow, MoveRow, Report
from sparkmirror.errors import ConfigError, SparkmirrorError
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.fact import WHOLE_TOPIC

NOT_WHOLE, WRONG_USE, UNREACHABLE = 1, 2, 3

NUMBERS = ("FROM_OFFSET", "TO_OFFSET", "WAS")
COLUMNS = Columns(
    heads=("GROUP", "FROM", "TO", *NUMBERS, "STATE", "WHY"),
    numbers=frozenset(NUMBERS),
    has_long=True,
    names=2,
    styles={
        "moved": "green",
        "to-move": "green",
        "in-place": "green",
        "ahead": "cyan",
        "short": "yellow",
        "active": "bold red",
        "unknown": "bold red",
        "refused": "bold red",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSettings:
    """What the command line says."""

    file: Path
    flow: str | None
    groups: tuple[str, ...]
    wait_s: float
    force: bool
    dry_run: bool
    as_json: bool

    @property
    def order(self) -> Order:
        return Order(groups=self.groups, wait_s=self.wait_s, force=self.force, dry_run=self.dry_run)


def failover(settings: SwitchSettings) -> int:
    return _switch(settings, Switch.failover)


def failback(settings: SwitchSettings) -> int:
    return _switch(settings, Switch.failback)


def _switch(settings: SwitchSettings, work: Callable[[Switch], Report]) -> int:
    try:
        config = load_mirror_config(settings.file)
        flow = choose_flow(config, settings.file, settings.flow)
        with telling("asking the clusters ...") as tell, Switch(flow, config.flows, settings.order, tell) as switch:
            report = work(switch)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    except SparkmirrorError as error:
        complain(f"{error}; it can be run again")
        return UNREACHABLE
    _show(report, settings.as_json)
    return 0 if report.is_whole else NOT_WHOLE


def _show(report: Report, as_json: bool) -> None:
    if as_json:
        say_json(document(report, time.time()))
    elif is_lively(sys.stdout.isatty(), os.environ):
        console = Console(highlight=False)
        draw_parts(console, draw(report, time.time(), console.width))
    else:
        say(*plain(report, time.time()))


# -- words


def title(report: Report) -> str:
    if report.dry_run:
        how = "dry run, nothing was changed"
    elif report.problem:
        how = f"not done: {one_line(report.problem)}"
    else:
        how = "done" if report.is_whole else "done, but not all"
        if replace(report, away="").is_whole and report.away:
            how = "done, as far as is known"
    return f"{report.verb} {report.flow}: {how}"


def lines(report: Report, now: float) -> Iterator[str]:
    """What is to be said beside the rows of groups."""
    if report.away:
        yield f"the source can't be reached: {one_line(report.away)}"
        yield _seen_text(report.seen, now)
    yield from (_missing_text(row, is_past=bool(report.away)) for row in report.missing)
    if not report.missing and not report.away:
        yield "no record is missing"
    yield from report.notes
    if report.halt and report.verb == FAILOVER:
        yield halt_text(report.flow, report.halt)
    for groups in (report.not_moved, report.still_there):
        yield from (f"{group}: {one_line(why)}" for group, why in sorted(groups.items()))
    if not report.moves and not report.problem:
        yield "no group has committed offsets of a mirrored topic"
    yield from _ages(report, now)


def _seen_text(seen: Seen | None, now: float) -> str:
    if seen is None:
        return "how far the copy was is not known"
    when = f"{_age(now, seen.at_ms)} ago, at {timestamp(seen.at_ms / 1000)}"
    return f"the copy was last compared with the source {when}" + ("" if seen.lag else ": nothing was missing then")


def _missing_text(row: MissingRow, *, is_past: bool) -> str:
    where = row.topic if row.partition == WHOLE_TOPIC else f"{row.topic}-{row.partition}"
    what = f"{row.records:,} records {'were' if is_past else 'are'} not mirrored"
    if row.records is None:
        what = "not known what is missing"
    elif not row.records:
        what = "the copy stands still"
    return ": ".join(filter(None, (where, what, one_line(row.why))))


def _ages(report: Report, now: float) -> Iterator[str]:
    """Of when the places are, where the source could not be asked: each group's newest."""
    newest: dict[str, int] = {}
    for row in report.moves:
        if row.synced_ms is not None:
            newest[row.group] = max(row.synced_ms, newest.get(row.group, 0))
    for group, at_ms in newest.items():
        yield f"{group}: last synced {_age(now, at_ms)} ago, at {timestamp(at_ms / 1000)}"


def _age(now: float, at_ms: int) -> str:
    return f"{max(0.0, now - at_ms / 1000):,.0f} s"


def cells(row: MoveRow) -> tuple[str, ...]:
    numbers = (row.offset, row.wanted, row.before)
    return (
        row.group,
        f"{row.topic}-{row.partition}" if row.topic else "-",
        f"{row.target_topic}-{row.target_partition}" if row.target_topic else "-",
        *("-" if number is None else str(number) for number in numbers),
        row.state,
        one_line(row.why),
    )


# -- the three forms


def plain(report: Report, now: float) -> Iterator[str]:
    yield title(report)
    yield from (f"  {line}" for line in lines(report, now))
    if report.moves:
        rows = [cells(row) for row in report.moves]
        yield ""
        yield from plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))


def draw(report: Report, now: float, room: int) -> Iterator[RenderableType]:
    yield Text(title(report), style="bold" if report.is_whole else "bold yellow")
    yield from (Text(f"  {line}") for line in lines(report, now))
    if report.moves:
        rows = [cells(row) for row in report.moves]
        yield ""
        yield from draw_rows(COLUMNS, rows, widths_of(COLUMNS, rows), room)


def document(report: Report, now: float) -> dict[str, Any]:
    """`last_seen`: null unless the source can't be reached; then the last known lag of each partition."""
    return {
        "time": timestamp(now),
        "verb": report.verb,
        "flow": report.flow,
        "dry_run": report.dry_run,
        "whole": report.is_whole,
        "problem": report.problem,
        "source_away": report.away,
        "notes": list(report.notes),
        "halted": report.halt is not None,
        "missing": [
            {"topic": row.topic, "partition": row.partition, "records": row.records, "why": row.why}
            for row in report.missing
        ],
        "last_seen": _last_seen(report),
        "groups": [_move(row) for row in report.moves],
        "not_moved": dict(report.not_moved),
        "still_there": dict(report.still_there),
    }


def _last_seen(report: Report) -> dict[str, Any] | None:
    if report.seen is None or not report.away:
        return None
    lag = report.seen.lag
    return {
        "time": timestamp(report.seen.at_ms / 1000),
        "partitions": [
            {"topic": topic, "partition": partition, "lag": lag.get((topic, partition), 0)}
            for topic, partition in report.partitions
        ],
    }


def _move(row: MoveRow) -> dict[str, Any]:
    return {
        "group": row.group,
        "from_topic": row.topic or None,
        "from_partition": row.partition if row.topic else None,
        "from_offset": row.offset,
        "to_topic": row.target_topic,
        "to_partition": row.target_partition,
        "to_offset": row.wanted,
        "was": row.before,
        "synced": timestamp(row.synced_ms / 1000) if row.synced_ms is not None else None,
        "state": row.state,
        "why": row.why,
    }
