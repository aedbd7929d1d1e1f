"""`sparkmirror groups`: where consumer groups stand on both sides, as tables or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.questions import Question, Showing, ask
from sparkmirror.control.group_survey import GroupRow, GroupSurvey, survey_groups
from sparkmirror.control.log import one_line

UNREACHABLE = 3

NUMBERS = ("SRC_OFFSET", "SRC_LAG", "WANTED", "DST_OFFSET", "DST_LAG")
COLUMNS = Columns(
    heads=("GROUP", "SOURCE", "TARGET", *NUMBERS, "STATE", "WHY"),
    numbers=frozenset(NUMBERS),
    has_long=True,
    names=2,
    styles={"synced": "green", "behind": "yellow", "ahead": "cyan", "lagging": "yellow", "unknown": "red"},
)


def groups(question: Question, only: Sequence[str] = ()) -> int:
    showing = Showing(document=document, draw=draw, plain=plain, exit_code=exit_code)
    return ask(question, lambda config: survey_groups(config.flows, only), showing)


def exit_code(surveys: Sequence[GroupSurvey]) -> int:
    return UNREACHABLE if any(survey.problem for survey in surveys) else 0


def document(surveys: Sequence[GroupSurvey]) -> object:
    return {"flows": [asdict(survey) for survey in surveys]}


def cells(row: GroupRow) -> tuple[str, ...]:
    numbers = (row.source_offset, row.source_lag, row.wanted, row.target_offset, row.target_lag)
    return (
        row.group,
        f"{row.topic}-{row.partition}",
        f"{row.target_topic}-{row.target_partition}",
        *("-" if number is None else str(number) for number in numbers),
        row.state,
        one_line(row.why),
    )


def _notes(survey: GroupSurvey) -> Iterator[str]:
    if survey.problem:
        yield f"  {one_line(survey.problem)}"
    elif not survey.rows:
        yield "  no group has committed offsets of a mirrored topic"
    for group, why in (survey.left_out or {}).items():
        yield f"  {group}: {one_line(why)}"


def plain(surveys: Sequence[GroupSurvey]) -> Iterator[str]:
    for index, survey in enumerate(surveys):
        if index:
            yield ""
        yield survey.flow
        yield from _notes(survey)
        if survey.rows:
            rows = [cells(row) for row in survey.rows]
            yield from plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))


def draw(surveys: Sequence[GroupSurvey], room: int) -> Iterator[RenderableType]:
    for index, survey in enumerate(surveys):
        if index:
            yield ""
        yield Text(survey.flow, style="bold")
        yield from (Text(note, style="yellow") for note in _notes(survey))
        if survey.rows:
            rows = [cells(row) for row in survey.rows]
            yield from draw_rows(COLUMNS, rows, widths_of(COLUMNS, rows), room)
