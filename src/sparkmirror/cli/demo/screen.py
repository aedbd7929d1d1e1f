"""How the demo speaks: steps with their durations, on a terminal with a moving line, elsewhere as plain text.

Plain text (a pipe, a file, NO_COLOR, TERM=dumb) holds no control character at all.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.live import Live
from rich.text import Text

FRAMES = "|/-\\"
FRAMES_PER_SECOND = 8
PLAIN_NOTE_EVERY_S = 3.0

Note = Callable[[str], None]


def is_lively(on_terminal: bool, environ: Mapping[str, str]) -> bool:
    return on_terminal and not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("dumb", "unknown")


class Screen:
    def __init__(self) -> None:
        self.lively = is_lively(sys.stdout.isatty(), os.environ)
        self._console = Console(highlight=False, soft_wrap=True)

    def line(self, text: str = "", style: str = "") -> None:
        if self.lively:
            self._console.print(Text(text, style=style))
        else:
            print(text, flush=True)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Note]:
        """Yields a function that shows how far the step is; says how long it took, or that it did not end."""
        began = time.monotonic()
        end = "failed"
        step = self._moving_step(title) if self.lively else self._plain_step(title)
        try:
            with step as note:
                yield note
            end = f"{time.monotonic() - began:.1f} s"
        except KeyboardInterrupt:
            end = "stopped"
            raise
        finally:
            self.line(f"{title} ... {end}" if self.lively else f" {end}")

    @contextlib.contextmanager
    def live(self) -> Iterator[Live]:
        """A place for a table that is drawn anew; only where `lively`. The last one stays."""
        with Live(console=Console(highlight=False), auto_refresh=False) as live:
            yield live

    @contextlib.contextmanager
    def _moving_step(self, title: str) -> Iterator[Note]:
        moving = _MovingLine(title)
        with Live(moving, console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True):
            yield moving.note

    @contextlib.contextmanager
    def _plain_step(self, title: str) -> Iterator[Note]:
        """Notes come below the title, news only and not too often; the duration then behind the last one."""
        print(f"{title} ...", end="", flush=True)
        spoke, last = time.monotonic(), ""

        def note(text: str) -> None:
            nonlocal spoke, last
            if text != last and time.monotonic() - spoke >= PLAIN_NOTE_EVERY_S:
                spoke, last = time.monotonic(), text
                print(f"\n  {text} ...", end="", flush=True)

        yield note


class _MovingLine:
    """Rich asks for it at each refresh."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._note = ""
        self._began = time.monotonic()

    def note(self, text: str) -> None:
        self._note = f" ({text})"

    def __rich__(self) -> Text:
        elapsed_s = time.monotonic() - self._began
        frame = FRAMES[int(elapsed_s * FRAMES_PER_SECOND) % len(FRAMES)]
        text = f"{frame} {self._title} ... {elapsed_s:.0f} s{self._note}"
        return Text(text, style="cyan", no_wrap=True, overflow="ellipsis")
