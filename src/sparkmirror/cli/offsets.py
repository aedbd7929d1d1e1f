"""`sparkmirror offsets`: shows, sets and forgets how far a flow has come."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.flows import choose_flows
from sparkmirror.cli.options import UNREACHABLE, AsJson, PickedFlow, Properties, guarded
from sparkmirror.cli.output import complain, draw_parts, say
from sparkmirror.cli.patience import patience
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError, SparkmirrorError
from sparkmirror.topology.standing import Standing

if TYPE_CHECKING:  # heavy: Kafka's schemas
    from sparkmirror.control.progress_editor import ProgressEditor
    from sparkmirror.offsets.claims import Leadership

REFUSED = 1
SHORT_ID = 8

NUMBERS = ("PARTITION", "NEXT_OFFSET", "TARGET_END")
COLUMNS = Columns(
    heads=("TOPIC", *NUMBERS, "OFFSETS", "SOURCE_ID", "TARGET_ID", "REASON"),
    numbers=frozenset(NUMBERS),
    has_long=True,
    names=2,
    styles={"translated": "yellow"},
)

Place = tuple[str, int]

app = typer.Typer(
    help="See, set or forget how far a flow has come.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)

Flow = Annotated[str, typer.Argument(metavar="FLOW", help="A flow of the file, as 'A->B'.", show_default=False)]


@app.command()
def show(
    file: Properties,
    flow: Annotated[
        str | None, typer.Argument(metavar="[FLOW]", help="Only this flow, as 'A->B'.", show_default=False)
    ] = None,
) -> None:
    """Print the progress of each partition.

    That is the next source offset, and where the target's log ended then.
    OFFSETS is equal, translated (with the reason) or - where a MirrorMaker 2 or
    [bold]offsets set[/bold] left the source's offset alone.
    """
    raise typer.Exit(guarded(lambda: _show(_flows(file, flow))))


@app.command("set")
def set_offset(
    file: Properties,
    flow: Flow,
    topic: Annotated[
        str,
        typer.Argument(metavar="TOPIC[:PARTITION]", help="As the source names it; -PARTITION is fine, too."),
    ],
    offset: Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="The source offset to copy next.")],
) -> None:
    """Let a flow go on from a source offset. It must not run.

    What stands in the target stays there. Where the offset is not the end of the
    target's log, offsets differ from then on.
    """
    raise typer.Exit(guarded(lambda: _set(_flow(file, flow), topic, offset)))


@app.command()
def reset(
    file: Properties,
    flow: Flow,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC[:PARTITION]]", help="As the source names it; all if left out.", show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> None:
    """Forget the progress of a flow, a topic or a partition. The flow must not run.

    The next run finds its position from the target's log alone, and begins at
    the source's start where the target is empty.
    """
    raise typer.Exit(guarded(lambda: _reset(_flow(file, flow), topic, yes)))


@app.command()
def translate(
    file: Properties,
    flow: PickedFlow = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="G", help="All that this group has committed.", show_default=False)
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="T", help="In place of a group.", show_default=False)
    ] = None,
    partition: Annotated[int, typer.Option("--partition", metavar="P", min=0, help="Of that topic.")] = 0,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", min=0, help="Of that partition.", show_default=False)
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the target to the source.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print where the records that a group reads next stand on the other cluster.

    It asks the clusters and changes nothing. Each offset becomes that of the
    same record on the flow's target, or of the next record if there is none at
    it. With --reverse offsets of the target become those of the source. EXACT is
    no where a record is not mirrored yet, or for the reason in WHY.

    [bold]sparkmirror offsets translate mm2.properties --flow 'A->B' --group billing[/bold]
    [bold]sparkmirror offsets translate mm2.properties --topic orders --offset 1200[/bold]
    [bold]sparkmirror offsets translate mm2.properties --group billing --reverse[/bold]

    Exit code 0: all are exact, 1: not all, 2: wrong use, 3: a cluster can't be
    reached.
    """
    from sparkmirror.cli import translate as translate_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = translate_command.TranslateSettings(
        file=file,
        flow=flow,
        group=group,
        topic=topic,
        partition=partition,
        offset=offset,
        reverse=reverse,
        as_json=as_json,
    )
    raise typer.Exit(translate_command.translate_offsets(settings))


def _flows(file: Path, name: str | None) -> list[FlowConfig]:
    return choose_flows(load_mirror_config(file), file, name)


def _flow(file: Path, name: str) -> FlowConfig:
    return _flows(file, name)[0]


# -- show


def _show(flows: list[FlowConfig]) -> int:
    code = 0
    for index, flow in enumerate(flows):
        if index:
            say("")
        try:
            with _editor(flow) as editor, patience(f"asking {flow.target.alias} ..."):
                progress = editor.read()
        except SparkmirrorError as error:
            say(f"{flow.name}: {error}")
            code = UNREACHABLE
            continue
        _print_progress(flow.name, progress)
    return code


def _print_progress(flow: str, progress: Mapping[Place, Standing]) -> None:
    rows = [progress_cells(place, standing) for place, standing in sorted(progress.items())]
    title = f"{flow}: {len(rows)} partitions" if rows else f"{flow}: no progress is written"
    widths = widths_of(COLUMNS, rows)
    if is_lively(sys.stdout.isatty(), os.environ):
        console = Console(highlight=False)
        draw_parts(console, [Text(title, style="bold")])
        draw_parts(console, draw_rows(COLUMNS, rows, widths, console.width) if rows else ())
    else:
        say(title, *(plain_lines(COLUMNS, rows, widths) if rows else ()))


def progress_cells(place: Place, standing: Standing) -> tuple[str, ...]:
    is_known = standing.target_end >= 0
    how = "translated" if standing.translated else "equal"
    return (
        place[0],
        str(place[1]),
        str(standing.next_offset),
        str(standing.target_end) if is_known else "-",
        how if is_known else "-",
        standing.source_id[:SHORT_ID] or "-",
        standing.target_id[:SHORT_ID] or "-",
        standing.translated,
    )


# -- set and reset


def _set(flow: FlowConfig, text: str, offset: int) -> int:
    from sparkmirror.control.progress_editor import choose_places, plan_set  # noqa: PLC0415

    with _editor(flow) as editor:
        with patience(f"asking {flow.source.alias} and {flow.target.alias} ..."):
            ends = editor.fetch_source_ends()
            plan = plan_set(offset, choose_places(text, ends), ends)
        return REFUSED if _says_who(flow, editor.find_writer(complain)) else _apply(flow, editor, plan)


def _reset(flow: FlowConfig, text: str | None, yes: bool) -> int:
    from sparkmirror.control.progress_editor import choose_places  # noqa: PLC0415

    if not yes and not sys.stdin.isatty():
        raise ConfigError("offsets reset asks before it forgets: expected --yes where there is no terminal")
    with _editor(flow) as editor:
        with patience(f"asking {flow.target.alias} ..."):
            progress = editor.read()
        places = sorted(progress) if text is None else choose_places(text, progress)
        if not places:
            say(f"{flow.name}: no progress is written")
            return 0
        if _says_who(flow, editor.find_writer(complain)) or not (yes or _confirmed(flow, places)):
            return REFUSED
        return _apply(flow, editor, dict.fromkeys(places))


def _apply(flow: FlowConfig, editor: ProgressEditor, plan: Mapping[Place, Standing | None]) -> int:
    """Write unless a driver came; look again afterwards, for one that came meanwhile has read what was before."""
    if _says_who(flow, editor.find_newcomer()):
        return REFUSED
    before = editor.read()
    editor.write(plan)
    for (topic, partition), standing in sorted(plan.items()):
        was = f"was {before[topic, partition].next_offset}" if (topic, partition) in before else "nothing was known"
        now = f"next source offset {standing.next_offset}" if standing else "forgotten"
        say(f"{flow.name}: {topic}-{partition}: {now} ({was})")
    return REFUSED if _says_who(flow, editor.find_newcomer()) else 0


def _says_who(flow: FlowConfig, leader: Leadership | None) -> bool:
    """Whether anybody leads, which it then says."""
    if leader is not None:
        complain(f"flow {flow.name} runs: {leader} leads; stop it and try again")
    return leader is not None


def _confirmed(flow: FlowConfig, places: list[Place]) -> bool:
    shown = ", ".join(f"{topic}-{partition}" for topic, partition in places[:10])
    more = f" and {len(places) - 10} more" if len(places) > 10 else ""
    return typer.confirm(f"Forget the progress of {flow.name}: {shown}{more}?")


def _editor(flow: FlowConfig) -> ProgressEditor:
    from sparkmirror.control.progress_editor import ProgressEditor  # noqa: PLC0415

    return ProgressEditor(flow)
