"""`sparkmirror status`: how every partition stands, as tables or as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from sparkmirror.cli import status_groups
from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.questions import Question, Showing, ask
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.log import one_line, timestamp
from sparkmirror.control.survey import FlowSurvey, survey_flows
from sparkmirror.control.survey_document import survey_document
from sparkmirror.control.survey_rows import PartitionRow, TopicRow
from sparkmirror.topology.acls import describe_acl
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.topic_configs import name_value

STOPPED_SOMEWHERE, UNREACHABLE = 1, 3

NUMBERS = ("PARTITION", "SRC_START", "SRC_LSO", "SRC_END", "DST_END", "LAG")
COLUMNS = Columns(
    heads=(*NUMBERS, "STATE", "ERROR"),
    numbers=frozenset(NUMBERS),
    has_long=True,
    styles={
        "copied": "green",
        "copying": "cyan",
        "new": "blue",
        "waiting": "yellow",
        "missing": "magenta",
        "stopped": "bold red",
        "unknown": "red",
    },
)


def status(question: Question) -> int:
    return ask(
        question,
        lambda config: survey_flows(config.flows),
        Showing(
            document=lambda surveys: survey_document(surveys, time.time()),
            draw=lambda surveys, room: draw(surveys, room, time.time()),
            plain=lambda surveys: plain(surveys, time.time()),
            exit_code=exit_code,
        ),
    )


def exit_code(surveys: Sequence[FlowSurvey]) -> int:
    """What could not be seen weighs more than what stands still."""
    if not all(survey.is_whole for survey in surveys):
        return UNREACHABLE
    return (
        STOPPED_SOMEWHERE
        if any(survey.stopped or survey.halt or survey.rival or survey.unable for survey in surveys)
        else 0
    )


# -- words


def heading(survey: FlowSurvey) -> str:
    return f"{survey.flow}: {_who_leads(survey)}"


def _who_leads(survey: FlowSurvey) -> str:
    leader = survey.leader
    if leader is None:
        return "leader not known" if survey.problem else "not running"
    if not survey.running:
        how = "released" if leader.released else "last seen"
        return f"not running ({leader}, {how} {timestamp(leader.written_ms / 1000)})"
    since = f" since {timestamp(leader.since_ms / 1000)}" if leader.since_ms >= 0 else ""
    return f"{leader} leads{since}"


def _last_seen(survey: FlowSurvey) -> str:
    """What was missing when somebody could still tell; empty if the clusters answer, or nobody did."""
    seen = survey.leader.seen if survey.leader else None
    if not survey.problem or seen is None:
        return ""
    missing = sum(seen.lag.values()) + seen.more
    return f"{missing:,} records were missing when both sides were last compared, {timestamp(seen.at_ms / 1000)}"


def topic_line(row: TopicRow) -> str:
    way = f"{row.topic} -> {row.target_topic}" if row.target_topic else row.topic
    return way + (f": {_fact_text(row.fact)}" if row.fact else "") + _by_hand(row)


def _by_hand(row: TopicRow) -> str:
    kept = [*(name_value(name, value) for name, value in row.by_hand.items())]
    kept += [f"without {describe_acl(acl)}" for acl in row.taken_away]
    return one_line(f" (by hand: {', '.join(kept)})") if kept else ""


def cells(row: PartitionRow, *, grouped: bool = False) -> tuple[str, ...]:
    bounds = row.bounds
    numbers = (bounds.source_start, bounds.source_stable, bounds.source_end, bounds.target_end, row.lag)
    return (
        str(row.partition),
        *(_number(number, grouped=grouped) for number in numbers),
        f"{row.state} translated" if row.translated else row.state,
        one_line(_fact_text(row.fact) if row.fact else row.translated),
    )


def _number(value: int | None, *, grouped: bool) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if grouped else str(value)


def _fact_text(fact: Fact) -> str:
    return one_line(fact.said) + (f" (since {fact.since})" if fact.since else "")


def _by_topic(survey: FlowSurvey) -> Iterator[tuple[TopicRow, list[PartitionRow]]]:
    rows = {topic: list(group) for topic, group in groupby(survey.partitions, key=lambda row: row.topic)}
    for topic in survey.topics:
        yield topic, rows.get(topic.topic, [])


# -- the two forms


def plain(surveys: Sequence[FlowSurvey], now: float) -> Iterator[str]:
    """Columns of all topics line up, so that a whole flow can be read down."""
    for index, survey in enumerate(surveys):
        if index:
            yield ""
        yield heading(survey)
        if survey.halt:
            yield f"  {halt_text(survey.flow, survey.halt)}"
        yield from (f"  {one_line(line)}" for line in (survey.rival, survey.unable) if line)
        if survey.problem:
            yield f"  {one_line(survey.problem)}"
            yield from (f"  {line}" for line in [_last_seen(survey)] if line)
        elif not survey.topics:
            yield "  no topic of the source matches"
        if survey.fact:
            yield f"  {_fact_text(survey.fact)}"
        widths = widths_of(COLUMNS, map(cells, survey.partitions))
        for topic, rows in _by_topic(survey):
            yield ""
            yield topic_line(topic)
            if rows:
                yield from plain_lines(COLUMNS, [cells(row) for row in rows], widths)
        if survey.groups:
            ages = status_groups.rows(survey.groups, now)
            yield ""
            yield status_groups.summary(survey.groups, now)
            yield from plain_lines(status_groups.COLUMNS, ages, widths_of(status_groups.COLUMNS, ages))
            yield from filter(None, [status_groups.rest(survey.groups)])


def draw(surveys: Sequence[FlowSurvey], room: int, now: float) -> Iterator[RenderableType]:
    for index, survey in enumerate(surveys):
        if index:
            yield ""
        yield Text(heading(survey), style="bold" if survey.running else "bold yellow")
        if survey.halt:
            yield Text(f"  {halt_text(survey.flow, survey.halt)}", style="yellow")
        yield from (Text(f"  {one_line(line)}", style="bold red") for line in (survey.rival, survey.unable) if line)
        if survey.problem:
            yield Text(f"  {one_line(survey.problem)}", style="red")
            yield from (Text(f"  {line}", style="red") for line in [_last_seen(survey)] if line)
        elif not survey.topics:
            yield Text("  no topic of the source matches", style="yellow")
        if survey.fact:
            yield Text(f"  {_fact_text(survey.fact)}", style="yellow")
        widths = widths_of(COLUMNS, (cells(row, grouped=True) for row in survey.partitions))
        for topic, rows in _by_topic(survey):
            yield ""
            yield Text(topic_line(topic), style="yellow" if topic.fact else "")
            if rows:
                yield from draw_rows(COLUMNS, [cells(row, grouped=True) for row in rows], widths, room)
        if survey.groups:
            ages = status_groups.rows(survey.groups, now)
            yield ""
            yield Text(status_groups.summary(survey.groups, now))
            yield from draw_rows(status_groups.COLUMNS, ages, widths_of(status_groups.COLUMNS, ages), room)
            yield from filter(None, [status_groups.rest(survey.groups)])
