"""All that a command says. Nothing of it can give the terminal a command, whoever wrote it (`sparkmirror.shown`)."""

from __future__ import annotations

from collections.abc import Iterable

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from sparkmirror.shown import shown, shown_json, shown_lines


def say(*lines: str) -> None:
    """Each in a line of its own."""
    print("\n".join(map(shown, lines)))


def complain(text: str) -> None:
    """On standard error; a text of several lines stays one."""
    typer.echo(shown_lines(text), err=True)


def say_json(document: object) -> None:
    print(shown_json(document, indent=1))


def draw_parts(console: Console, parts: Iterable[RenderableType]) -> None:
    for part in parts:
        console.print(_Guarded(part))


class _Guarded:
    """Colours and boxes are no part of a segment's text: whatever is not printable there came from outside."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._part, options):
            yield segment if segment.control else Segment(shown_lines(segment.text), segment.style)
