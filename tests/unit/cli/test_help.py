"""Every command's help can be read in a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from typer.main import get_command

from sparkmirror.cli.main import app

ROOM = 78  # rich keeps a column free on each side


def texts() -> Iterator[tuple[str, str]]:
    root = get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        for sub, inner in getattr(command, "commands", {"": command}).items():
            yield f"{name} {sub}".strip(), inner.help or ""


@pytest.mark.parametrize(("command", "text"), list(texts()), ids=[name for name, _ in texts()])
def test_no_line_of_a_help_is_broken(command: str, text: str) -> None:
    lines = [re.sub(r"\[/?bold\]", "", line) for line in text.splitlines()]
    assert command and [line for line in lines if len(line) > ROOM] == []
