"""Tables fit where they are shown, and are plain in a pipe."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of

COLUMNS = Columns(heads=("N", "STATE", "ERROR"), numbers=frozenset({"N"}), has_long=True)
ROWS = [("1", "copied", ""), ("20", "stopped", "a [bold] text that is rather long and needs its room")]


def drawn(width: int) -> str:
    console = Console(file=StringIO(), width=width, highlight=False)
    for part in draw_rows(COLUMNS, ROWS, widths_of(COLUMNS, ROWS), width):
        console.print(part)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_plain_columns_line_up_without_trailing_spaces() -> None:
    assert plain_lines(COLUMNS, ROWS, widths_of(COLUMNS, ROWS)) == [
        " N  STATE    ERROR",
        " 1  copied",
        "20  stopped  a [bold] text that is rather long and needs its room",
    ]


def test_tables_of_one_flow_line_up() -> None:
    widths = widths_of(COLUMNS, ROWS)
    assert plain_lines(COLUMNS, ROWS[:1], widths) == [" N  STATE    ERROR", " 1  copied"]


def test_long_texts_stand_beside_where_there_is_room() -> None:
    assert "stopped  a [bold] text that is rather long and needs its room" in drawn(120)


def test_long_texts_come_below_where_there_is_none() -> None:
    text = drawn(40)
    assert "ERROR" not in text
    assert "  20: a [bold] text" in text
    assert all(len(line) <= 40 for line in text.splitlines())
