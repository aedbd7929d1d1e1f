"""`sparkmirror doctor`: all that a run will need, tried before a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from sparkmirror.cli.check import summary
from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.questions import Question, Showing, ask
from sparkmirror.config.mirror import examine_file
from sparkmirror.config.model import MirrorConfig
from sparkmirror.control.log import one_line
from sparkmirror.doctor.examine import examine
from sparkmirror.doctor.verdict import Judge, Level, Verdict, count
from sparkmirror.topology.select import refuse_unusable

FAILED = 1

COLUMNS = Columns(
    heads=("RESULT", "ABOUT", "CHECK", "FOUND"),
    has_long=True,
    names=3,
    styles={Level.PASS: "green", Level.WARN: "yellow", Level.FAIL: "bold red", Level.SKIP: "cyan"},
)


def doctor(question: Question, examine: Callable[[MirrorConfig], list[Verdict]] = examine) -> int:
    def find(config: MirrorConfig) -> list[Verdict]:
        for flow in config.flows:
            refuse_unusable(flow)
        return [judge_file(question.file), *examine(config)]

    showing = Showing(document=document, draw=draw, plain=plain, exit_code=exit_code)
    return ask(question, find, showing, waiting="starting Spark, asking the clusters ...")


def judge_file(file: Path) -> Verdict:
    examined = examine_file(file)
    found = examined.findings.in_order()
    judge = Judge("file", "check")
    if not found:
        return judge.passes(summary(examined, found))
    return judge.warns(summary(examined, found), f"sparkmirror check {file} shows them")


def document(verdicts: Sequence[Verdict]) -> object:
    counted = Counter(verdict.level for verdict in verdicts)
    return {
        "checks": [asdict(verdict) for verdict in verdicts],
        "counts": {level.value: counted[level] for level in Level},
    }


def exit_code(verdicts: Sequence[Verdict]) -> int:
    return FAILED if any(verdict.level is Level.FAIL for verdict in verdicts) else 0


def cells(verdict: Verdict) -> tuple[str, ...]:
    said = f"{verdict.said}; cure: {verdict.cure}" if verdict.cure else verdict.said
    return verdict.level.value, verdict.about, verdict.check, one_line(said)


def closing(verdicts: Sequence[Verdict]) -> str:
    counted = Counter(verdict.level for verdict in verdicts)
    passed, failed, skipped = (counted[level] for level in (Level.PASS, Level.FAIL, Level.SKIP))
    return f"{passed} passed, {failed} failed, {count(counted[Level.WARN], 'warning')}, {skipped} skipped"


def plain(verdicts: Sequence[Verdict]) -> Iterator[str]:
    rows = [cells(verdict) for verdict in verdicts]
    yield from plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))
    yield closing(verdicts)


def draw(verdicts: Sequence[Verdict], room: int) -> Iterator[RenderableType]:
    rows = [cells(verdict) for verdict in verdicts]
    yield from draw_rows(COLUMNS, rows, widths_of(COLUMNS, rows), room)
    yield Text(closing(verdicts), style="bold red" if exit_code(verdicts) else "bold green")
