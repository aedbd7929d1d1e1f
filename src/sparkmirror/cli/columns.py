"""Rows as a table: drawn on a terminal, aligned with spaces in a pipe. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparkmirror.shown import shown

LONGEST_CELL = 2000  # a name that somebody made for it must not make every row as long
LEAST_ROOM = 32  # columns of a terminal that a long text needs beside the others
_GAP = 2

Row = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """`numbers` are aligned to the right; `has_long`: the last one has long texts; `styles`: by a cell's first word.

    The first `names` cells name a row.
    """

    heads: tuple[str, ...]
    numbers: frozenset[str] = frozenset()
    has_long: bool = False
    names: int = 1
    styles: Mapping[str, str] = field(default_factory=dict)


def widths_of(columns: Columns, rows: Iterable[Row]) -> list[int]:
    """So that several tables can line up."""
    lines = [columns.heads, *map(_cells, rows)]
    return [max(len(line[i]) for line in lines) for i in range(len(columns.heads))]


def plain_lines(columns: Columns, rows: Sequence[Row], widths: Sequence[int]) -> list[str]:
    gap = " " * _GAP
    padded = (
        [_pad(columns, i, text, widths[i]) for i, text in enumerate(line)]
        for line in [columns.heads, *map(_cells, rows)]
    )
    return [gap.join(cells).rstrip() for cells in padded]


def draw_rows(columns: Columns, rows: Sequence[Row], widths: Sequence[int], room: int) -> Iterator[RenderableType]:
    """A table; where `room` is too small for long texts, these come below it, each with its row's name."""
    left = room - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    if not columns.has_long or left >= min(LEAST_ROOM, widths[-1]):
        yield _table(columns, rows, widths)
        return
    short = len(columns.heads) - 1
    yield _table(columns, [row[:short] for row in rows], widths[:short])
    for row in rows:
        if row[-1]:
            yield Padding(Text(f"{'-'.join(_cells(row[: columns.names]))}: {shown(row[-1])}"), (0, 0, 0, _GAP))


def _table(columns: Columns, rows: Sequence[Row], widths: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
    for i, width in enumerate(widths):
        is_long = columns.has_long and i == len(columns.heads) - 1
        table.add_column(
            columns.heads[i],
            justify="right" if columns.heads[i] in columns.numbers else "left",
            no_wrap=not is_long,
            min_width=None if is_long else width,
            overflow="fold",
        )
    for row in rows:
        # Never markup: topics and errors may hold brackets.
        table.add_row(*(Text(text, style=columns.styles.get(text.partition(" ")[0], "")) for text in _cells(row)))
    return table


def _cells(row: Row) -> list[str]:
    return [shown(text, LONGEST_CELL) for text in row]


def _pad(columns: Columns, index: int, text: str, width: int) -> str:
    return text.rjust(width) if columns.heads[index] in columns.numbers else text.ljust(width)
