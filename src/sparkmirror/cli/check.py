"""`sparkmirror check`: all that is wrong or doubtful in a file, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from sparkmirror.cli.output import complain, say
from sparkmirror.config.findings import Finding, at_line
from sparkmirror.config.mirror import Examined, examine_file
from sparkmirror.config.notices import idle_keys
from sparkmirror.config.properties import shown_key
from sparkmirror.errors import ConfigError
from sparkmirror.shown import shown

WRONG_USE = 2
_COLOURS = {"error": typer.colors.RED, "warning": typer.colors.YELLOW}


def check(file: Path) -> int:
    try:
        examined = examine_file(file)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    found = all_findings(examined)
    for finding in found:
        kind = typer.style(finding.kind, fg=_COLOURS[finding.kind], bold=True)
        typer.echo(at_line(str(file), finding.line, f"{kind}: {shown(finding.message)}"))
    say(f"{file}: {summary(examined, found)}")
    return WRONG_USE if examined.config is None else 0


def all_findings(examined: Examined) -> list[Finding]:
    """By line."""
    found = (*examined.findings.in_order(), *idle_lines(examined))
    return sorted(found, key=lambda finding: finding.line or 0)


def idle_lines(examined: Examined) -> Iterator[Finding]:
    """Keys that change nothing; those of a line that was spoken of already are left out."""
    if examined.config is None:
        return
    spoken_of = {finding.line for finding in examined.findings.in_order()}
    for key, is_known in idle_keys(examined.settings).items():
        line = examined.config.lines[key]
        if line not in spoken_of:
            why = "it is not in force yet" if is_known else "neither MirrorMaker 2 nor sparkmirror has such a key"
            yield Finding(line, "warning", f"{shown_key(key)} changes nothing: {why}")


def summary(examined: Examined, found: list[Finding]) -> str:
    kinds = [finding.kind for finding in found]
    counts = f"{_count(kinds.count('error'), 'error')}, {_count(kinds.count('warning'), 'warning')}"
    if examined.config is None:
        return counts
    return f"{counts}; flows {', '.join(flow.name for flow in examined.config.flows)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
