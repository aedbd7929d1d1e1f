"""`sparkmirror state`: keeps a flow's state in a file, and restores it where its internal topics were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sparkmirror.cli.columns import Columns, plain_lines, widths_of
from sparkmirror.cli.flows import choose_flow
from sparkmirror.cli.options import AsJson, PickedFlow, Properties, guarded
from sparkmirror.cli.output import complain, say, say_json
from sparkmirror.cli.patience import patience
from sparkmirror.config.mirror import load_mirror_config

REFUSED = 1

COLUMNS = Columns(heads=("PART", "NAME", "ACTION", "WHY"), has_long=True)

app = typer.Typer(
    help="Keep a flow's state in a file, and restore it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")]


@app.command("export")
def export_state(
    file: Properties,
    out: Annotated[Path, typer.Option("--out", metavar="STATE", help="The file to write.", show_default=False)],
    flow: PickedFlow = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Keep a flow's claims, progress, offset map and checkpoints in a file.

    The flow may run meanwhile. The file is replaced as a whole, so this is fit
    for cron: what is copied after an export is found in both logs after an
    import.

    [bold]sparkmirror state export mm2.properties --flow 'A->B' --out a-to-b.state[/bold]

    Exit code 0: written, 1: the flow has no state, 2: wrong use, 3: a cluster
    can't be reached.
    """
    raise typer.Exit(guarded(lambda: _export(file, flow, out, dry_run=dry_run, as_json=as_json)))


@app.command("import")
def import_state(
    file: Properties,
    from_file: Annotated[
        Path, typer.Option("--in", metavar="STATE", help="A file that [bold]export[/bold] wrote.", show_default=False)
    ],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Restore what a flow has lost of its internal topics. It must not run.

    Topics and records that are missing are made and written; what is there is
    never written over. The next run goes on with the very next record, and finds
    what was copied since the export in both logs. It can be repeated.

    Where the claim topic is gone, nothing says whether the flow runs: it waits
    for three leases and 12 s to see whether a driver comes forward.

    ACTION is restored, there (nothing to do), kept (the target's own is newer),
    stops (restored, but the next run can't go on: WHY) or refused (WHY).

    [bold]sparkmirror state import mm2.properties --in a-to-b.state --dry-run[/bold]

    Exit code 0: all is there, 1: not all, or refused, 2: wrong use, or a file
    that is cut or another's, 3: a cluster can't be reached.
    """
    raise typer.Exit(guarded(lambda: _import(file, from_file, dry_run=dry_run, as_json=as_json)))


def _export(file: Path, name: str | None, out: Path, *, dry_run: bool, as_json: bool) -> int:
    from sparkmirror.control.state import StateKeeper  # noqa: PLC0415 - Kafka's schemas only when needed
    from sparkmirror.offsets.state_file import CLAIMS, SECTIONS, write_state_file  # noqa: PLC0415

    flow = choose_flow(load_mirror_config(file), file, name)
    with StateKeeper(flow) as keeper, patience(f"asking {flow.source.alias} and {flow.target.alias} ..."):
        state = keeper.read()
    counts = {section: len(state.records(section)) for section in SECTIONS}
    if not counts[CLAIMS]:
        complain(f"{flow.name}: there is no state: it has never run, or its topics are lost")
        return REFUSED
    if not dry_run:
        write_state_file(out, state)
    if as_json:
        say_json(asdict(state.head) | {"out": str(out), "dry_run": dry_run, "records": counts})
    else:
        said = ", ".join(f"{count} {section}" for section, count in counts.items())
        say(f"{flow.name}: {'would write' if dry_run else 'wrote'} {out}: {said}")
    return 0


def _import(file: Path, from_file: Path, *, dry_run: bool, as_json: bool) -> int:
    from sparkmirror.control.state import StateKeeper  # noqa: PLC0415 - Kafka's schemas only when needed
    from sparkmirror.offsets.state_file import read_state_file  # noqa: PLC0415

    config, state = load_mirror_config(file), read_state_file(from_file)
    flow = choose_flow(config, file, state.head.flow)
    leader = None
    with StateKeeper(flow) as keeper:
        with patience(f"asking {flow.source.alias} and {flow.target.alias} ..."):
            leader = keeper.running_leader()
            plan = keeper.plan(state, str(from_file))
        if not dry_run and leader is None and not plan.refusal:
            leader = keeper.apply(plan, state, watch_s=keeper.watch_s, tell=complain)
    refusal = f"flow {flow.name} runs: {leader} leads; stop it and import again" if leader else plan.refusal
    if as_json:
        document = {
            "flow": flow.name,
            "dry_run": dry_run,
            "refusal": refusal,
            "rows": [asdict(row) for row in plan.rows],
        }
        say_json(document)
    else:
        rows = [(row.part, row.name, row.action, row.why) for row in plan.rows]
        counts = ", ".join(f"{count} {action}" for action, count in Counter(row.action for row in plan.rows).items())
        say(f"{flow.name}: {counts or 'nothing'}{' (dry run)' * dry_run}", *_table(rows))
        if refusal:
            complain(refusal)
    return 0 if not refusal and plan.is_whole else REFUSED


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows)) if rows else []
