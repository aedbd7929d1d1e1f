"""One line for each thing that begins, with the time since the start."""

from __future__ import annotations

import time

from rich.console import Console


class Progress:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def say(self, who: str, what: str) -> None:
        line = f"[{self.elapsed_s:6.1f} s] {who}: {what}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
