"""What comes from outside gives no terminal a command, forges no line, and is the same to a program."""

from __future__ import annotations

import json
import logging
import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from sparkmirror.cli import output
from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.output import complain, draw_parts, say, say_json
from sparkmirror.control.log import JsonFormatter, TextFormatter
from sparkmirror.shown import LONGEST, shown

EVIL = "g\x1b]0;owned\x07\x1b[2J\rok\nINFO all is well\x85\x9b31m\u202egpj\u2028\x7f"
COLUMNS = Columns(heads=("GROUP", "WHY"), has_long=True)


def is_safe(text: str) -> bool:
    return all(line.isprintable() for line in text.removesuffix("\n").split("\n"))


def test_a_text_of_one_line_stays_one_and_what_can_be_printed_stays_as_it_is() -> None:
    assert shown(EVIL).isprintable()
    assert shown("\x1b[31m\n") == "\\x1b[31m\\n"
    assert shown("bücher 日本 [bold] \\x") == "bücher 日本 [bold] \\x"
    assert len(shown("x" * 100_000)) == LONGEST and shown("x" * 100_000).endswith("...")


def test_whatever_a_command_says_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    say("a line", EVIL)
    complain(f"two lines,\nand {EVIL}")
    said, complained = capsys.readouterr()
    assert is_safe(said) and said.count("\n") == 2
    assert is_safe(complained)
    say_json({EVIL: [EVIL]})
    printed = capsys.readouterr().out
    assert is_safe(printed) and json.loads(printed) == {EVIL: [EVIL]}


@pytest.mark.parametrize("width", [200, 30])
def test_whatever_is_drawn_is_safe_in_colour_too(width: int) -> None:
    rows = [(EVIL, EVIL), ("x" * 40_000, "")]
    plain = plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))
    assert len(plain) == 3 and all(line.isprintable() for line in plain) and max(map(len, plain)) < 5000
    file = StringIO()
    console = Console(file=file, width=width, highlight=False, force_terminal=True, color_system="standard")
    draw_parts(console, [Text(EVIL, style="bold"), *draw_rows(COLUMNS, rows[:1], widths_of(COLUMNS, rows[:1]), width)])
    without_style = file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert is_safe(without_style) and "\\x1b]0;owned\\x07" in without_style.replace("\n", "")


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_whatever_is_logged_is_one_safe_line(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        record = logging.LogRecord("sparkmirror", logging.ERROR, __file__, 1, "it %s", (EVIL,), sys.exc_info())
    line = formatter.format(record)
    assert line.isprintable() and "owned" in line
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["traceback"].endswith(f"ValueError: {EVIL}\n")


def test_no_command_says_anything_by_another_way() -> None:
    """The demo's text is its own, `check` colours a word, and versions come from this machine."""
    allowed = {"output.py", "check.py", "main.py"}
    folder = Path(output.__file__).parent
    found = [
        path.name
        for path in folder.glob("*.py")
        if re.search(r"\b(?<!console\.)print\(|typer\.echo\(", path.read_text())
    ]
    assert set(found) <= allowed
