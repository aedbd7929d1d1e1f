"""`sparkmirror`: the commands and their exit codes (0 done, 1 not whole, 2 wrong use, 3 can't start)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sparkmirror.cli import check as check_command
from sparkmirror.cli import config as config_command
from sparkmirror.cli import offsets as offsets_command
from sparkmirror.cli import run as run_command
from sparkmirror.cli import state as state_command
from sparkmirror.cli.arguments import spread_clusters
from sparkmirror.cli.demo import command as demo_command
from sparkmirror.cli.options import AsJson, PickedFlow, Properties
from sparkmirror.cli.questions import Question
from sparkmirror.cli.version import version_text
from sparkmirror.core_dumps import forbid_core_dumps

app = typer.Typer(
    name="sparkmirror",
    help="Mirror Apache Kafka clusters with Spark: MirrorMaker 2's job, same offsets, no duplicates.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.add_typer(offsets_command.app, name="offsets")
app.add_typer(state_command.app, name="state")

Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="NAME", help="Only this group, may be given again; else those that the flow follows."
    ),
]
Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the copy.")]
Force = Annotated[bool, typer.Option("--force", help="Go on where something is missing, and say what.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, and show what would be done.")]
Clusters = Annotated[
    list[str] | None,
    typer.Option("--clusters", metavar="ALIAS...", help="Only the flows into these clusters."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Versions of sparkmirror, Spark, Java, Python.",
        ),
    ] = False,
) -> None:
    """Mirror Apache Kafka clusters with Spark."""


@app.command()
def run(
    file: Properties,
    clusters: Clusters = None,
    once: Annotated[
        bool, typer.Option("--once", help="Copy what is there now, then exit: 0 if all was copied, else 1.")
    ] = False,
    status_file: Annotated[
        Path | None,
        typer.Option("--status-file", metavar="F", help="Keep a JSON status document in this file."),
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    log_format: Annotated[str, typer.Option("--log-format", help="text or json.")] = "text",
) -> None:
    """Run the flows of a MirrorMaker 2 properties file.

    [bold]sparkmirror run mm2.properties[/bold]           until it is stopped (Ctrl-C, SIGTERM)
    [bold]sparkmirror run mm2.properties --once[/bold]    copies what is there, then exits

    With --once it ends with a summary, and gives up when nothing has moved for
    60 s.

    Exit code 0: done, 1: not all was copied (--once), 2: wrong use, 3: Java,
    Maven or Spark is missing, 4: a part of the driver failed (the log has it).
    """
    settings = run_command.RunSettings(
        file=file,
        clusters=tuple(clusters or ()),
        once=once,
        status_file=status_file,
        log_level=log_level,
        log_format=log_format,
    )
    raise typer.Exit(run_command.run(settings))


@app.command()
def status(
    file: Properties,
    as_json: AsJson = False,
    clusters: Clusters = None,
) -> None:
    """See how every partition stands, with or without a running mirror.

    It asks the clusters and changes nothing. SRC_LSO is the source's last stable
    offset, up to which records can be copied; LAG is what is left to copy. STATE
    is copied, copying, new (not begun), waiting, stopped, missing (no target
    topic yet) or unknown (a leader does not answer), with "translated" where the
    target's offsets differ from the source's.

    Exit code 0: all is well, 1: a partition is stopped or a flow is halted,
    2: wrong use, 3: a cluster can't be reached.
    """
    from sparkmirror.cli import status as status_command  # noqa: PLC0415 - Kafka's schemas only when needed

    question = Question(file=file, clusters=tuple(clusters or ()), as_json=as_json)
    raise typer.Exit(status_command.status(question))


@app.command()
def groups(
    file: Properties,
    as_json: AsJson = False,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="Only this one; may be given again.")
    ] = None,
    clusters: Clusters = None,
) -> None:
    """See where consumer groups stand on both sides, mirror running or not.

    It asks the clusters and changes nothing. WANTED is where a group would go on
    on the target, exactly; DST_OFFSET what is committed for it there. STATE is
    synced, behind (the next sync moves it, or WHY not), ahead (it has read on
    there), lagging (it has read records that are not mirrored yet) or unknown.

    [bold]sparkmirror groups mm2.properties --group billing[/bold]

    Exit code 0: shown, 2: wrong use, 3: a cluster can't be reached.
    """
    from sparkmirror.cli import groups as groups_command  # noqa: PLC0415 - Kafka's schemas only when needed

    question = Question(file=file, clusters=tuple(clusters or ()), as_json=as_json)
    raise typer.Exit(groups_command.groups(question, tuple(group or ())))


@app.command()
def accept(
    file: Properties,
    places: Annotated[
        list[str], typer.Argument(metavar="TOPIC[:PARTITION]...", help="As the source names it.", show_default=False)
    ],
    flow: PickedFlow = None,
    yes: Yes = False,
    wait_s: Wait = 60.0,
) -> None:
    """Let partitions go on past what stops them, once, while the rest runs.

    It shows what stands still and what becomes of it, asks, tells the mirror and
    waits until that has gone on: as with on.gap, on.recreate or
    on.divergence=continue, but for these partitions and this time alone.

    [bold]sparkmirror accept mm2.properties orders:0[/bold]
    [bold]sparkmirror accept mm2.properties orders --flow 'A->B' --yes[/bold]

    Exit code 0: all go on, 1: one still stands, 2: wrong use, or nobody runs the
    flow, or it is halted, 3: a cluster can't be reached.
    """
    from sparkmirror.cli import accept as accept_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = accept_command.AcceptSettings(file=file, flow=flow, places=tuple(places), yes=yes, wait_s=wait_s)
    raise typer.Exit(accept_command.accept(settings))


@app.command()
def remirror(
    file: Properties,
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", help="As the source names it.", show_default=False)
    ],
    flow: PickedFlow = None,
    yes: Yes = False,
    wait_s: Wait = 60.0,
) -> None:
    """Delete a topic's copy and mirror it anew, while the rest runs.

    It says first which records the target alone has, and asks. Only topics that
    the mirror made are deleted, and none that others are mirrored into, too.

    [bold]sparkmirror remirror mm2.properties orders[/bold]

    Exit code 0: it is mirrored anew, 1: it stands still, 2: wrong use, or nobody
    runs the flow, or it is halted, 3: a cluster can't be reached.
    """
    from sparkmirror.cli import accept as accept_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = accept_command.AcceptSettings(file=file, flow=flow, places=tuple(topics), yes=yes, wait_s=wait_s)
    raise typer.Exit(accept_command.remirror(settings))


@app.command()
def failover(
    file: Properties,
    flow: PickedFlow = None,
    group: Groups = None,
    wait: Wait = 60.0,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let consumers of A go over to B, at their exact places.

    1. Stop producers and consumers of A.
    2. [bold]sparkmirror failover mm2.properties --flow 'A->B'[/bold]
    3. Start them on B. Nothing is read again, nothing is missed.

    It waits until all is mirrored, halts the flow, commits on B where each group
    goes on there, and prints what it did. The flow stays halted, whoever runs
    the mirror, until [bold]sparkmirror failback[/bold]. If something is not mirrored in time
    it says what, and changes nothing. If A can't be reached it waits for nothing
    and takes the newest checkpoints: a group reads again at most what it
    consumed since its last sync.

    Groups that have members on B are left alone, and no group goes back. STATE
    is moved, in-place (was there already), ahead (has read on there), short (it
    has read records that are not mirrored), active (has members there), unknown
    or refused. It can be repeated at any time.

    Exit code 0: all is moved, 1: something is missing or was not moved, 2: wrong
    use, 3: B can't be reached.
    """
    from sparkmirror.cli import failover as failover_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = failover_command.SwitchSettings(
        file=file,
        flow=flow,
        groups=tuple(group or ()),
        wait_s=wait,
        force=force,
        dry_run=dry_run,
        as_json=as_json,
    )
    raise typer.Exit(failover_command.failover(settings))


@app.command()
def failback(
    file: Properties,
    flow: PickedFlow = None,
    group: Groups = None,
    wait: Wait = 60.0,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Give consumers that went over to B their places back on A; A->B goes on.

    1. Stop producers and consumers of B.
    2. [bold]sparkmirror failback mm2.properties --flow 'A->B'[/bold]
    3. Start them on A.

    What a group has read of A.orders on B it does not read again of orders on A.
    If the file has a flow B->A it waits until all of that is mirrored, and
    groups of B's own topics go over to their remote topics on A. Then the halt
    of A->B is lifted.

    Groups that have members on A are left alone, and no group goes back. It can
    be repeated at any time, and --force lifts the halt whatever is missing.

    Exit code 0: all is moved, 1: something is missing or was not moved, 2: wrong
    use, 3: a cluster can't be reached.
    """
    from sparkmirror.cli import failover as failover_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = failover_command.SwitchSettings(
        file=file,
        flow=flow,
        groups=tuple(group or ()),
        wait_s=wait,
        force=force,
        dry_run=dry_run,
        as_json=as_json,
    )
    raise typer.Exit(failover_command.failback(settings))


@app.command()
def check(
    file: Properties,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are warnings.")] = False,
) -> None:
    """Say all that is wrong or doubtful in a file. Nothing is connected to.

    Errors keep a mirror from starting. Warnings tell of lines that do something
    else than they seem to: keys that MirrorMaker 2 drops without a word, with
    the form that works; unknown keys, with the nearest known one; keys that
    nothing acts on yet. Each begins with FILE:LINE.

    [bold]sparkmirror check mm2.properties[/bold]             before a start
    [bold]sparkmirror check mm2.properties --strict[/bold]    in a pipeline

    Exit code 0: a mirror would start, 1: it would, but there are warnings (with
    --strict), 2: it would not.
    """
    raise typer.Exit(check_command.check(file, strict=strict))


@app.command()
def config(
    file: Properties,
    flow: Annotated[
        str | None, typer.Option("--flow", metavar="'A->B'", help="Only this flow.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what holds for each flow, and where each value came from.

    FROM is the line and the key as written, or "default". STATE is in force, not
    yet (nothing acts on it) or better by design (what it would change is
    settled). Clients' keys are shown where the file sets them. Passwords are
    masked, and what a placeholder stands for is not shown.

    [bold]sparkmirror config mm2.properties --flow 'A->B'[/bold]

    Exit code 0: printed, 2: the file is wrong (see [bold]sparkmirror check[/bold]).
    """
    settings = config_command.ConfigSettings(file=file, flow=flow, as_json=as_json)
    raise typer.Exit(config_command.config(settings))


@app.command()
def plan(
    file: Properties,
    as_json: AsJson = False,
    clusters: Clusters = None,
) -> None:
    """See what a run would make and change: topics, configurations, rights.

    It asks the clusters and changes nothing. ACTION is create, extend (more
    partitions), set or remove (a configuration), grant (a right), delete (only
    with sync.topic.deletes.enabled) or refused, with the reason and what helps.

    Exit code 0: all of it can be done, 1: something is refused, 2: wrong use,
    3: a cluster can't be reached.
    """
    from sparkmirror.cli import plan as plan_command  # noqa: PLC0415 - Kafka's schemas only when needed

    question = Question(file=file, clusters=tuple(clusters or ()), as_json=as_json)
    raise typer.Exit(plan_command.plan(question))


@app.command()
def doctor(
    file: Properties,
    as_json: AsJson = False,
    clusters: Clusters = None,
) -> None:
    """Try all that a run will need, before a run. Changes nothing on either cluster.

    This machine: Java, and Spark, which is started with the file's spark.* keys.
    Each cluster: does it answer, can each broker be reached by the name that it
    advertises, what is lost on old brokers, how far is its clock from ours. Each
    flow: rights of the user on both sides, replicas against live brokers and
    min.insync.replicas, sizes of records, the target's memory of producers.

    RESULT is PASS, WARN (it runs, but something is lost), FAIL (it would not
    work) or SKIP (could not be checked). What is not PASS says what helps.

    [bold]sparkmirror doctor mm2.properties[/bold]           takes about ten seconds
    [bold]sparkmirror doctor mm2.properties --json[/bold]    for programs

    Exit code 0: nothing failed, 1: something did, 2: the file is wrong.
    """
    from sparkmirror.cli import doctor as doctor_command  # noqa: PLC0415 - Kafka's schemas only when needed

    question = Question(file=file, clusters=tuple(clusters or ()), as_json=as_json)
    raise typer.Exit(doctor_command.doctor(question))


@app.command()
def verify(
    file: Properties,
    flow: PickedFlow = None,
    topics: Annotated[
        str | None, typer.Option("--topics", metavar="RE", help="Only source topics whose whole name matches this.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="T", help="Only records from then on: 2026-01-31T10:00:00Z, or 2h ago."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Only N random stretches of each partition.")
    ] = None,
    throttle: Annotated[
        str | None,
        typer.Option("--throttle", metavar="BYTES/S", help="Read no more than this of both sides, such as 20M."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="The seed of an earlier --sample, to see it again.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="F", help="Write a JSON document to this file.")
    ] = None,
) -> None:
    """Compare both sides of a flow, record by record, while the mirror runs or not.

    A Spark job reads both sides in parallel and compares key, value, headers,
    timestamp, order and offset. What is not mirrored yet is LAG and no
    difference. Of compacted topics the latest record of each key is compared. It
    changes nothing on either cluster.

    [bold]sparkmirror verify mm2.properties[/bold]                        all of the only flow
    [bold]sparkmirror verify mm2.properties --flow 'A->B' --topics 'orders.*'[/bold]
    [bold]sparkmirror verify mm2.properties --since 2h --throttle 20M[/bold]
    [bold]sparkmirror verify mm2.properties --sample 5 --report verify.json[/bold]

    Exit code 0: no difference, 1: a difference, 2: something could not be
    compared (wrong use, a cluster can't be reached, a right is missing).
    """
    from sparkmirror.cli import verify as verify_command  # noqa: PLC0415 - Kafka's schemas only when needed

    settings = verify_command.VerifySettings(
        file=file,
        flow=flow,
        topics=topics,
        since=since,
        sample=sample,
        throttle=throttle,
        seed=seed,
        report=report,
    )
    raise typer.Exit(verify_command.verify(settings))


@app.command()
def demo(
    seconds: Annotated[int, typer.Option("--seconds", min=1, help="How long the load runs.")] = 30,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running afterwards, and say where it is, until Ctrl-C.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Leave the kill and the moving group out.")] = False,
) -> None:
    """See it work: two real Kafka clusters here, load, a mirror, and the proof.

    Starts clusters A and B, writes to three topics on A (lz4, zstd, plain; keys,
    headers, nulls), mirrors them to B with Spark and shows end offsets, lag,
    MB/s and latency: from a record's timestamp until a consumer reads it on B.

    Then it kills the mirror and Spark under load (kill -9), starts them again,
    and compares both sides record by record: key, value, headers, timestamp,
    partition, offset, order. At last a consumer group that read on A goes on on
    B, with the very next record. Nothing is left behind.

    [bold]sparkmirror demo[/bold]                takes two minutes, the first time longer
    [bold]sparkmirror demo --seconds 300[/bold]  takes a longer look
    [bold]sparkmirror demo --keep[/bold]         stays, with A on 127.0.0.1:19092 and B on
                                  127.0.0.1:29092 unless these are taken

    Exit code 0: all equal, 1: not, 3: Java or Maven is missing, 130: Ctrl-C.
    """
    raise typer.Exit(demo_command.demo(demo_command.DemoSettings(seconds=seconds, keep=keep, quick=quick)))


def main() -> None:
    forbid_core_dumps()
    sys.argv[1:] = spread_clusters(sys.argv[1:])
    app()


def connect_mirror_maker() -> None:
    """The same as `sparkmirror run`, under the name that MirrorMaker 2 has."""
    forbid_core_dumps()
    sys.argv[1:] = ["run", *spread_clusters(sys.argv[1:])]
    app(prog_name="connect-mirror-maker")


if __name__ == "__main__":
    main()
