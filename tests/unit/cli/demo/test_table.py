"""The demo's figures as text."""

from __future__ import annotations

import io

from rich.console import Console

from sparkmirror.cli.demo.gauges import Ends, Row
from sparkmirror.cli.demo.table import draw_table, plain_line, plain_table


def row(topic: str, end: int, p50_ms: int | None = 6) -> Row:
    ends = Ends(source=end, target=end - 12)
    return Row(topic=topic, codec="lz4", ends=ends, mb_per_second=3.14159, p50_ms=p50_ms, p99_ms=p50_ms)


ROWS = [row("orders", 1_234_567), row("audit", 99, None), row("all", 123_456_789)]


def test_table_fits_into_80_columns_without_cuts() -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(draw_table(ROWS, "A 127.0.0.1:19092 -> B 127.0.0.1:29092   100 s, 200 s left", "some trouble"))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "…" not in text
    for wanted in ("123,456,777", "p99 ms", "200 s left", "some trouble"):
        assert wanted in text


def test_trouble_with_brackets_is_not_taken_for_markup() -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(draw_table(ROWS, "title", "spark.master=local[2] [/bold]"))
    assert isinstance(console.file, io.StringIO)
    assert "local[2] [/bold]" in console.file.getvalue()


def test_plain_table_is_aligned() -> None:
    lines = plain_table(ROWS)
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split() == ["audit", "lz4", "99", "87", "12", "3.14", "-", "-"]


def test_plain_line_tells_of_all_topics() -> None:
    assert plain_line(ROWS, 5.02, 24.98) == (
        "  5 s, 25 s left: 123,456,777 records mirrored, lag 12, 3.1 MB/s, latency p50 6 ms, p99 6 ms"
    )
