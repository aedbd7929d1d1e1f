"""`sparkmirror plan`: what a run would make and change, as tables or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.questions import Question, Showing, ask
from sparkmirror.control.flow_plan import FlowPlan, Step, plan_mirror
from sparkmirror.control.log import one_line

REFUSED_SOMEWHERE, UNREACHABLE = 1, 3
REFUSED = "refused"

COLUMNS = Columns(
    heads=("ACTION", "CLUSTER", "TOPIC", "DETAIL"),
    has_long=True,
    names=3,
    styles={
        "create": "green",
        "extend": "green",
        "set": "cyan",
        "grant": "cyan",
        "remove": "yellow",
        "delete": "bold red",
        REFUSED: "bold red",
    },
)


def plan(question: Question) -> int:
    return ask(question, plan_mirror, Showing(document=document, draw=draw, plain=plain, exit_code=exit_code))


def document(plans: Sequence[FlowPlan]) -> object:
    return {"flows": [asdict(each) for each in plans]}


def exit_code(plans: Sequence[FlowPlan]) -> int:
    """What could not be seen weighs more than what can't be done."""
    if any(each.problem for each in plans):
        return UNREACHABLE
    return REFUSED_SOMEWHERE if any(step.refusal for each in plans for step in each.steps) else 0


def cells(step: Step) -> tuple[str, ...]:
    if step.refusal:
        return (REFUSED, step.cluster, step.topic, one_line(step.refusal))
    return (step.action, step.cluster, step.topic, one_line(step.detail))


def heading(each: FlowPlan) -> str:
    if each.problem:
        return f"{each.flow}: {one_line(each.problem)}"
    refused = sum(bool(step.refusal) for step in each.steps)
    todo = len(each.steps) - refused
    words = [f"{todo} to do" if todo else "nothing to do", *([f"{refused} refused"] if refused else [])]
    return f"{each.flow}: {', '.join(words)}"


def plain(plans: Sequence[FlowPlan]) -> Iterator[str]:
    """The columns of all flows line up."""
    widths = widths_of(COLUMNS, (cells(step) for each in plans for step in each.steps))
    for index, each in enumerate(plans):
        if index:
            yield ""
        yield heading(each)
        yield from (f"  {one_line(note)}" for note in each.notes)
        if each.steps:
            yield from plain_lines(COLUMNS, [cells(step) for step in each.steps], widths)


def draw(plans: Sequence[FlowPlan], room: int) -> Iterator[RenderableType]:
    widths = widths_of(COLUMNS, (cells(step) for each in plans for step in each.steps))
    for index, each in enumerate(plans):
        if index:
            yield ""
        yield Text(heading(each), style="red" if each.problem else "bold")
        yield from (Text(f"  {one_line(note)}", style="yellow") for note in each.notes)
        if each.steps:
            yield from draw_rows(COLUMNS, [cells(step) for step in each.steps], widths, room)
