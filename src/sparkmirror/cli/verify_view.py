"""A comparison's report as lines: a row a topic, then what differs and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.output import draw_parts
from sparkmirror.cli.verify_progress import human_bytes
from sparkmirror.control.log import one_line
from sparkmirror.control.verify_report import DIFFERENT, SAME, PartitionReport, VerifyReport

NUMBERS = ("PARTITIONS", "RECORDS", "BYTES", "LAG", "DIFFERENCES")
COLUMNS = Columns(
    heads=("TOPIC", "TARGET", *NUMBERS, "RESULT"),
    numbers=frozenset(NUMBERS),
    styles={"same": "green", "different": "red", "not": "yellow"},
)


def draw_report(report: VerifyReport) -> None:
    console = Console(highlight=False, soft_wrap=True)
    rows = topic_rows(report.partitions)
    if rows:
        draw_parts(console, draw_rows(COLUMNS, rows, widths_of(COLUMNS, rows), console.width))
    draw_parts(console, map(Text, details(report)))
    style = {SAME: "bold green", DIFFERENT: "bold red"}.get(report.exit_code, "bold yellow")
    draw_parts(console, [Text(verdict(report), style=style)])


def plain_report(report: VerifyReport) -> Iterator[str]:
    rows = topic_rows(report.partitions)
    if rows:
        yield from plain_lines(COLUMNS, rows, widths_of(COLUMNS, rows))
    yield from details(report)
    yield verdict(report)


def topic_rows(partitions: Sequence[PartitionReport]) -> list[tuple[str, ...]]:
    return [_row(topic, list(group)) for topic, group in groupby(partitions, lambda each: each.topic)]


def _row(topic: str, partitions: Sequence[PartitionReport]) -> tuple[str, ...]:
    differences = sum(each.differences for each in partitions)
    unknown = any(each.problem for each in partitions)
    return (
        topic,
        partitions[0].remote,
        str(len(partitions)),
        str(sum(each.records for each in partitions)),
        human_bytes(sum(each.bytes for each in partitions)),
        str(sum(each.lag for each in partitions)),
        f"{differences}{'+' if any(each.is_cut for each in partitions) else ''}",
        "different" if differences else "not compared" if unknown else "same",
    )


def details(report: VerifyReport) -> Iterator[str]:
    for note in report.notes:
        yield f"note: {one_line(note)}"
    for each in report.partitions:
        where = f"{each.topic}-{each.partition} and {each.remote}-{each.remote_partition}"
        if each.problem:
            yield f"{where}: not compared: {one_line(each.problem)}"
        for found in each.found:
            yield f"{where}: {found}"
        if each.differences > len(each.found) or each.is_cut:
            more = ", and what is behind them was not compared" if each.is_cut else ""
            yield f"{where}: {each.differences} differences in all{more}"
        for text in remarks(each):
            yield f"{where}: {text}"


def remarks(each: PartitionReport) -> Iterable[str]:
    if each.left_out:
        yield f"{each.left_out} records were left out by the mirror on purpose (see sparkmirror status)"
    if each.others:
        yield f"{each.others} records of the target were written by others, and the mirror knows of them"
    if each.trimmed:
        yield f"{each.trimmed} offsets were removed by a broker meanwhile, and not compared"
    if each.unknown:
        yield f"the first {each.unknown} offsets were not compared: nothing says where the target has them"


def verdict(report: VerifyReport) -> str:
    took = f"{human_bytes(report.bytes)} of both sides in {report.took_s:.1f} s"
    sampled = f", {report.sampled} random stretches a partition (seed {report.seed})" if report.sampled else ""
    if report.exit_code == SAME:
        return f"{report.flow}: no difference{sampled}; {took}"
    if report.exit_code == DIFFERENT:
        return f"{report.flow}: {report.differences} differences{sampled}; {took}"
    if not report.partitions:
        return f"{report.flow}: nothing was compared: the flow mirrors no topic of that name"
    return f"{report.flow}: no difference, but {report.problems} partitions could not be compared{sampled}; {took}"
