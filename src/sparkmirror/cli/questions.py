"""Commands that ask the clusters of a file and show the answer: tables on a terminal, columns in a pipe, or JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from rich.console import Console, RenderableType

from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.output import complain, draw_parts, say, say_json
from sparkmirror.cli.patience import patience
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import MirrorConfig
from sparkmirror.errors import ConfigError

WRONG_USE = 2

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the command line says."""

    file: Path
    clusters: tuple[str, ...] = ()
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing(Generic[Answer]):
    """How an answer is shown; `draw` is told how wide the terminal is."""

    document: Callable[[Answer], object]
    draw: Callable[[Answer, int], Iterable[RenderableType]]
    plain: Callable[[Answer], Iterable[str]]
    exit_code: Callable[[Answer], int]


def ask(question: Question, find: Callable[[MirrorConfig], Answer], showing: Showing[Answer], waiting: str = "") -> int:
    """`waiting`: what a terminal shows meanwhile."""
    try:
        config = load_mirror_config(question.file, only_targets=question.clusters)
        with patience(waiting or f"asking the clusters of {', '.join(flow.name for flow in config.flows)} ..."):
            answer = find(config)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    if question.as_json:
        say_json(showing.document(answer))
    elif is_lively(sys.stdout.isatty(), os.environ):
        console = Console(highlight=False)
        draw_parts(console, showing.draw(answer, console.width))
    else:
        say(*showing.plain(answer))
    return showing.exit_code(answer)
