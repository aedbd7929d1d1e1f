"""The demo's figures as a table for a terminal, or as lines for a pipe. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from sparkmirror.cli.demo.gauges import Row

HEADS = ("topic", "codec", "source end", "target end", "lag", "MB/s", "p50 ms", "p99 ms")
TEXT_COLUMNS = 2


def draw_table(rows: Sequence[Row], title: str, caption: str = "") -> Table:
    """Fits into 80 columns. The last row is the sum. `caption` may be any text, brackets included."""
    table = Table(
        title=Text(title, style="bold"),
        caption=Text(caption, style="yellow") if caption else None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for i, head in enumerate(HEADS):
        table.add_column(head, justify="left" if i < TEXT_COLUMNS else "right", no_wrap=True)
    for row in rows[:-1]:
        table.add_row(*cells(row))
    table.add_section()
    table.add_row(*cells(rows[-1]), style="bold")
    return table


def plain_table(rows: Sequence[Row]) -> list[str]:
    lines = [HEADS, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return ["  ".join(_pad(text, widths[i], i) for i, text in enumerate(line)) for line in lines]


def plain_line(rows: Sequence[Row], elapsed_s: float, left_s: float) -> str:
    """One line about all topics: who reads a log wants to know that it goes on."""
    total = rows[-1]
    return (
        f"{elapsed_s:3.0f} s, {left_s:.0f} s left: {total.ends.target:,} records mirrored, lag {total.ends.lag:,}, "
        f"{total.mb_per_second:.1f} MB/s, latency p50 {_ms(total.p50_ms)} ms, p99 {_ms(total.p99_ms)} ms"
    )


def cells(row: Row) -> tuple[str, ...]:
    return (
        row.topic,
        row.codec,
        f"{row.ends.source:,}",
        f"{row.ends.target:,}",
        f"{row.ends.lag:,}",
        f"{row.mb_per_second:.2f}",
        _ms(row.p50_ms),
        _ms(row.p99_ms),
    )


def _ms(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _pad(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column < TEXT_COLUMNS else text.rjust(width)
