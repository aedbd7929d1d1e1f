"""`python -m bench`: measure, print the tables, keep the result."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.machine import describe_machine, describe_versions, keys_not_in_force
from bench.progress import Progress
from bench.report import COLUMNS, RATIO_COLUMNS, ratio_rows, result_rows, terminal_table
from bench.result_file import Run, alone_text, write_result
from bench.run import Findings, run_all
from bench.session import FAILURES
from bench.setups import DEFAULT_WORK, example_properties
from bench.sizes import MIRRORS, SCENARIOS, TASKS, Sizes
from bench.steady_report import STEADY_COLUMNS, STEADY_RATIO_COLUMNS, steady_ratio_rows, steady_rows

FAILED, INTERRUPTED = 1, 130
NARROWEST = 160


def parse_choice(text: str, known: Sequence[str], option: str) -> list[str]:
    """A list with commas; the answer is in the order in which things are done."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    if not wanted or not set(wanted) <= set(known):
        raise typer.BadParameter(f"{option}: choose from {', '.join(known)}")
    return [name for name in known if name in wanted]


def parse_label(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise typer.BadParameter("--label: letters, digits, '.', '_' and '-', as it is part of a file's name")
    return text


def main(
    only: Annotated[str, typer.Option(help="Scenarios, with commas between them.")] = ",".join(SCENARIOS),
    mirrors: Annotated[str, typer.Option(help="Mirrors, with commas between them.")] = ",".join(MIRRORS),
    scale: Annotated[float, typer.Option(min=0.001, max=100, help="1 is 1 GB; 0.02 to try it.")] = 1.0,
    tasks: Annotated[int, typer.Option(min=1, help="tasks.max of each mirror; steady traffic has its own.")] = TASKS,
    tls: Annotated[bool, typer.Option("--tls", help="The mirrors speak TLS with both brokers.")] = False,
    out: Annotated[Path, typer.Option(help="The folder for the result.")] = Path("bench/results"),
    label: Annotated[str, typer.Option(help="What the run is called in the result's name.")] = "bench",
) -> None:
    """Measure MirrorMaker 2, MirrorMaker 2 tuned and sparkmirror against the same two brokers."""
    scenarios, names = parse_choice(only, SCENARIOS, "--only"), parse_choice(mirrors, MIRRORS, "--mirrors")
    what, sizes, day = parse_label(label), Sizes.at(scale, tasks), datetime.now(UTC).date()
    machine, versions = describe_machine(), describe_versions()
    console = Console()
    progress, findings = Progress(console), Findings()
    _measure(console, progress, findings, (sizes, scenarios, names), tls=tls)
    _print(console, findings)
    run = Run(
        day=day,
        label=what,
        sizes=sizes,
        machine=machine,
        versions=versions,
        alone=findings.alone,
        scenarios=scenarios,
        mirrors=names,
        measurements=findings.measurements,
        steady=findings.steady,
        elapsed_s=progress.elapsed_s,
        tls=tls,
        not_in_force=keys_not_in_force(example_properties("sparkmirror", scenarios, tasks), DEFAULT_WORK),
    )
    progress.say("bench", f"kept in {write_result(out, run)}")
    raise typer.Exit(0 if findings.whole else FAILED)


def _measure(
    console: Console,
    progress: Progress,
    findings: Findings,
    what: tuple[Sizes, Sequence[str], Sequence[str]],
    *,
    tls: bool,
) -> None:
    """Ctrl-C and SIGTERM end everything that runs, and show what there is by then."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_all(progress, *what, findings, tls=tls)
    except KeyboardInterrupt:
        _print(console, findings)
        progress.say("bench", "interrupted: no result is kept")
        raise typer.Exit(INTERRUPTED) from None
    except FAILURES as error:
        progress.say("bench", str(error))
        raise typer.Exit(FAILED) from None


def _print(console: Console, findings: Findings) -> None:
    measured = findings.measurements
    wide = console if console.is_terminal else Console(width=max(console.width, NARROWEST))
    if findings.steady:
        wide.print(terminal_table("Steady traffic", STEADY_COLUMNS, steady_rows(findings.steady)))
    if steady_ratios := steady_ratio_rows(findings.steady):
        wide.print(terminal_table("Ratios of steady traffic", STEADY_RATIO_COLUMNS, steady_ratios))
    if measured:
        wide.print(terminal_table("Mirrors", COLUMNS, result_rows(measured)))
    if ratios := ratio_rows(measured):
        wide.print(terminal_table("Ratios", RATIO_COLUMNS, ratios))
    wide.print(alone_text(findings.alone))


if __name__ == "__main__":
    typer.run(main)
