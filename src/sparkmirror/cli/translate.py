"""`sparkmirror offsets translate`: where records stand on the other cluster, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.flows import choose_flow
from sparkmirror.cli.output import complain
from sparkmirror.cli.questions import WRONG_USE, Question, Showing, ask
from sparkmirror.config.model import MirrorConfig
from sparkmirror.control.log import one_line
from sparkmirror.control.translation import TranslatedRow, Translation, Wanted, translate

NOT_EXACT, UNREACHABLE = 1, 3

NUMBERS = ("OFFSET", "TO_OFFSET")
COLUMNS = Columns(
    heads=("FROM", "OFFSET", "TO", "TO_OFFSET", "EXACT", "WHY"),
    numbers=frozenset(NUMBERS),
    has_long=True,
    styles={"yes": "green", "no": "yellow"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateSettings:
    """What the command line says."""

    file: Path
    flow: str | None
    group: str | None
    topic: str | None
    partition: int
    offset: int | None
    reverse: bool
    as_json: bool


def translate_offsets(settings: TranslateSettings) -> int:
    if (settings.group is None) == (settings.topic is None) or (settings.topic is None) != (settings.offset is None):
        complain("offsets translate: expected --group, or --topic with --offset")
        return WRONG_USE

    def find(config: MirrorConfig) -> Translation:
        wanted = Wanted(
            group=settings.group or "",
            place=(settings.topic or "", settings.partition),
            offset=-1 if settings.offset is None else settings.offset,
            reverse=settings.reverse,
        )
        return translate(choose_flow(config, settings.file, settings.flow), config.flows, wanted)

    showing = Showing(document=asdict, draw=draw, plain=plain, exit_code=exit_code)
    return ask(Question(file=settings.file, as_json=settings.as_json), find, showing)


def exit_code(found: Translation) -> int:
    if found.problem:
        return UNREACHABLE
    return 0 if found.rows and all(row.exact for row in found.rows) else NOT_EXACT


def cells(row: TranslatedRow) -> tuple[str, ...]:
    return (
        f"{row.topic}-{row.partition}",
        str(row.offset),
        f"{row.to_topic}-{row.to_partition}" if row.to_topic else "-",
        "-" if row.to_offset is None else str(row.to_offset),
        "yes" if row.exact else "no",
        one_line(row.why),
    )


def _title(found: Translation) -> str:
    group = f", group {found.group}" if found.group else ""
    return f"{found.flow}: from {found.from_cluster} to {found.to_cluster}{group}"


def _note(found: Translation) -> str:
    """What is said in place of rows."""
    return one_line(found.problem) or f"the group has committed nothing on {found.from_cluster}"


def plain(found: Translation) -> Iterator[str]:
    yield _title(found)
    if not found.rows:
        yield f"  {_note(found)}"
    if found.rows:
        rows = [cells(row) for row in found.rows]
        yield from plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))


def draw(found: Translation, room: int) -> Iterator[RenderableType]:
    yield Text(_title(found), style="bold")
    if not found.rows:
        yield Text(f"  {_note(found)}", style="yellow")
    if found.rows:
        rows = [cells(row) for row in found.rows]
        yield from draw_rows(COLUMNS, rows, widths_of(COLUMNS, rows), room)
