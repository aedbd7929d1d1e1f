"""Where a sink goes on within a micro-batch that may have been written in part, or wholly, before.

    progress       | rows 0..99 are there, sequence 99 |
    leader says    last sequence 129
    this batch                                          | 100 ... 129 | 130 ... 180 |
                                                          are there     are written now

Rows are numbered as they come; a replay brings the same rows in the same order, so it gives them the same numbers. A
sink's target may have other writers, too: its own records are told by the producer id, and its place by the sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.copy import facts
from sparkmirror.topology.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Which sink, and which of its query's micro-batches."""

    name: str
    query: str
    batch: int


def plan_base(hint: Standing | None, now: MicroBatch) -> int:
    """The number of the micro-batch's first row."""
    if hint is None:
        return 0
    if hint.query and hint.query != now.query:
        raise facts.other_query(now.name)
    if hint.batch > now.batch:
        raise facts.older_batch(now.name, now.batch, hint.batch)
    return hint.batch_first if hint.batch == now.batch else hint.next_offset


def check_count(partition: str, rows_end: int, written_end: int, base: int) -> None:
    """A micro-batch that comes again must bring at least the rows that it brought before."""
    if rows_end < written_end:
        raise facts.other_rows(partition, base, written_end)
