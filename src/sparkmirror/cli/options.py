"""What several commands are told, and how they say that it was wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sparkmirror.cli.output import complain
from sparkmirror.errors import ConfigError, SparkmirrorError

WRONG_USE, UNREACHABLE = 2, 3

Properties = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A MirrorMaker 2 properties file, as it is.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
PickedFlow = Annotated[
    str | None,
    typer.Option("--flow", metavar="'A->B'", help="May be left out if the file has one.", show_default=False),
]


def guarded(work: Callable[[], int]) -> int:
    """Its exit code."""
    try:
        return work()
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    except SparkmirrorError as error:
        complain(str(error))
        return UNREACHABLE
