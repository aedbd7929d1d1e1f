"""A moving line on standard error while clusters are asked: only on a terminal, and only if it takes a while."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.control.log import one_line

PATIENCE_S = 1.0


@contextlib.contextmanager
def patience(text: str) -> Iterator[None]:
    if not is_lively(sys.stderr.isatty(), os.environ):
        yield
        return
    done = threading.Event()

    def show() -> None:
        if not done.wait(PATIENCE_S):
            with Console(stderr=True, highlight=False).status(text):
                done.wait()

    thread = threading.Thread(target=show, name="patience", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextlib.contextmanager
def telling(first: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is waited for, as it is told."""
    if not is_lively(sys.stderr.isatty(), os.environ):
        yield lambda _: None
        return
    with Console(stderr=True, highlight=False).status(first) as status:
        yield lambda text: status.update(Text(one_line(text)))
