"""`docs/faults.md`: every kind, how often it was tried and what became of the records. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from tests.chaos.results import Result

HEAD = """# Faults that were tried

`make faults` runs a mirror under load, brings about one fault after the other, waits until the mirror copies again by
itself, and compares both sides record by record with another client. This table is made from its results
(`make faults-table`).

The time to recover begins when Kafka's own client reads and writes again; for a worker that hangs it begins with the
fault. Two kinds that came at once count for both.

"""


def make_table(results: Sequence[Result], described: Mapping[str, str]) -> str:
    """`described`: what each kind is, by its name."""
    lines = [HEAD + _summary(results), ""]
    lines.append(
        "| fault | what happens | tried | records compared | lost | twice | recovered after, median | worst | failed |"
    )
    lines.append("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    lines += [_row(name, text, [r for r in results if name in r.kinds]) for name, text in sorted(described.items())]
    return "\n".join(lines) + "\n"


def _summary(results: Sequence[Result]) -> str:
    kinds = {kind for result in results for kind in result.kinds}
    faults = sum(len(result.kinds) for result in results)
    compared = sum(result.compared for result in results)
    lost, twice = sum(result.lost for result in results), sum(result.twice for result in results)
    failed = sum(not result.is_good for result in results)
    return (
        f"{faults:,} faults of {len(kinds)} kinds, {compared:,} records compared: {lost:,} lost, {twice:,} twice, "
        f"{failed:,} steps failed."
    )


def _row(name: str, text: str, results: Sequence[Result]) -> str:
    if not results:
        return f"| {name} | {text} | 0 | | | | | | |"
    times = [result.recover_s for result in results if result.recover_s is not None]
    median, worst = (f"{of(times):.1f} s" if times else "" for of in (statistics.median, max))
    compared = sum(result.compared for result in results)
    lost, twice = sum(result.lost for result in results), sum(result.twice for result in results)
    failed = sum(not result.is_good for result in results)
    return f"| {name} | {text} | {len(results)} | {compared:,} | {lost} | {twice} | {median} | {worst} | {failed} |"
