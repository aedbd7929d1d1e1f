"""Says by the header alone what a fetched batch needs before it can stand in the target's log.

    source log    |  batch 10..19  |  batch 20..24  | marker 25 |  batch 26..30  |
                                   ^ position 20
    target log    |  batch 10..19  |  the next append gets offset 20

A batch *passes* if the target gives its records the offsets they have at the source: it begins at the
position, has no holes inside, and its timestamps mean the same in the target. Everything else is a named
fact that stops the partition.
"""

from __future__ import annotations

from collections.abc import Collection

from sparkmirror.batch.header import MAGIC, BatchHeader
from sparkmirror.errors import MirrorError

PASSED = "passed"


def check_passes(header: BatchHeader, position: int, aborted: Collection[tuple[int, int]] = ()) -> None:
    """Raise a `MirrorError` that names the fact if the batch can't be appended at `position` as it is.

    `aborted` lists (producer id, first offset) of aborted transactions, as a read-committed fetch has them.
    """
    if header.magic != MAGIC:
        raise MirrorError(
            "old-format",
            f"offset {header.first}: message format {header.magic} can't be mirrored yet; "
            "rewrite the topic with a broker of 0.11 or later",
        )
    if header.first > position:
        raise _hole(position, header.first, "offsets are missing (compaction or removed records)")
    if header.first < position:
        raise MirrorError(
            "mid-batch",
            f"the next offset {position} lies inside the source's batch {header.first}..{header.end - 1}",
        )
    if header.is_control:
        raise _hole(header.first, header.end, "a transaction marker")
    if header.is_transactional and _is_aborted(header, aborted):
        raise _hole(header.first, header.end, "records of an aborted transaction")
    if header.records != header.last_delta + 1:
        raise _hole(header.first, header.end, f"a compacted batch holds {header.records} records")
    if header.is_log_append_time:
        raise MirrorError(
            "log-append-time",
            f"offset {header.first}: the source topic has message.timestamp.type=LogAppendTime, "
            "which can't be mirrored with its timestamps yet",
        )


def _is_aborted(header: BatchHeader, aborted: Collection[tuple[int, int]]) -> bool:
    return any(producer == header.producer_id and first <= header.first for producer, first in aborted)


def _hole(first: int, end: int, why: str) -> MirrorError:
    return MirrorError(
        "hole",
        f"source offsets {first}..{end - 1} hold no record to copy: {why}; "
        "equal offsets can't be kept across such a hole yet",
    )
