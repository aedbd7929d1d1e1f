"""The Java programs of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparkmirror.embedded.programs import JavaProgram

SOURCES = Path(__file__).parents[1] / "java"


def start_program(main: str, *arguments: str, flags: Sequence[str] = ()) -> JavaProgram:
    return JavaProgram(SOURCES, main, *arguments, flags=flags)
