"""`sparkmirror check`: all that is wrong or doubtful in a file, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from sparkmirror.cli.output import complain, say
from sparkmirror.config.findings import Finding, at_line
from sparkmirror.config.mirror import Examined, examine_file
from sparkmirror.errors import ConfigError
from sparkmirror.shown import shown

DOUBTFUL, WRONG_USE = 1, 2
_COLOURS = {"error": typer.colors.RED, "warning": typer.colors.YELLOW}


def check(file: Path, *, strict: bool = False) -> int:
    """`strict`: warnings make it 1."""
    try:
        examined = examine_file(file)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    found = examined.findings.in_order()
    for finding in found:
        kind = typer.style(finding.kind, fg=_COLOURS[finding.kind], bold=True)
        typer.echo(at_line(str(file), finding.line, f"{kind}: {shown(finding.message)}"))
    say(f"{file}: {summary(examined, found)}")
    if examined.config is None:
        return WRONG_USE
    return DOUBTFUL if strict and found else 0


def summary(examined: Examined, found: Sequence[Finding]) -> str:
    kinds = [finding.kind for finding in found]
    counts = f"{_count(kinds.count('error'), 'error')}, {_count(kinds.count('warning'), 'warning')}"
    if examined.config is None:
        return counts
    return f"{counts}; flows {', '.join(flow.name for flow in examined.config.flows)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
