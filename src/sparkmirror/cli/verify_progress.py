"""How far a comparison is, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.output import complain, draw_parts

if TYPE_CHECKING:
    from sparkmirror.control.verify import Ahead
    from sparkmirror.pipeline.verify_job import Done

PLAIN_EVERY_S = 5.0
BAR = 24


class Progress:
    """`show` is called all along."""

    def __init__(self, flow: str, live: Live | None) -> None:
        self._flow = flow
        self._live = live
        self._began = time.monotonic()
        self._compares_since: float | None = None
        self._spoke = self._began
        self.line(f"verify {flow}: asking the clusters and starting Spark ...")

    def show(self, ahead: Ahead, done: Done) -> None:
        now = time.monotonic()
        if self._compares_since is None:
            self._compares_since = now
            self.line(f"verify {self._flow}: {ahead.partitions} partitions, {ahead.offsets} offsets")
        text = describe(ahead, done, now - self._compares_since)
        if self._live is not None:
            share = min(1.0, done.offsets / ahead.offsets) if ahead.offsets else 1.0
            self._live.update(Text(f"{'#' * int(share * BAR):.<{BAR}} {text}", style="cyan", no_wrap=True))
        elif now - self._spoke >= PLAIN_EVERY_S:
            self._spoke = now
            self.line(f"verify {self._flow}: {text}")

    def line(self, text: str) -> None:
        if self._live is not None:
            draw_parts(self._live.console, [Text(text)])
        else:
            complain(text)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


@contextlib.contextmanager
def open_progress(flow: str) -> Iterator[Progress]:
    if not is_lively(sys.stderr.isatty(), os.environ):
        yield Progress(flow, None)
        return
    with Live(console=Console(stderr=True, highlight=False), refresh_per_second=8, transient=True) as live:
        yield Progress(flow, live)


def describe(ahead: Ahead, done: Done, took_s: float) -> str:
    """Bytes are those of both sides."""
    rate = done.bytes / took_s if took_s > 0 else 0.0
    left = max(0, ahead.offsets - done.offsets)
    eta = f", {_time(took_s * left / done.offsets)} left" if done.offsets and left else ""
    found = f", {done.differences} differences" if done.differences else ""
    return f"{done.tasks} of {ahead.tasks} ranges, {human_bytes(done.bytes)}, {human_bytes(rate)}/s{eta}{found}"


def human_bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _time(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {seconds}s" if minutes else f"{seconds}s"
