"""What the source holds, against what stands in the target: the evidence for a position."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sparkmirror.batch.records import PlainRecord
from sparkmirror.copy import facts
from sparkmirror.copy.overlap import longest_overlap
from sparkmirror.copy.place import Place
from sparkmirror.copy.source_view import SourceView
from sparkmirror.copy.tail import Batch, data_batches, read_tail
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.run import Stretch

_ANY_OFFSET = 1 << 62
# A MirrorMaker 2 writes its offsets down once a minute. Who copied more than this since gets it once more.
MOST_RECORDS = 1_000_000
LOOK_BACK = 100  # offsets before it, to see that nothing was copied since


def first_record(source: SourceView, place: Place, first: int, end: int) -> int | None:
    """The first record that the source has in `first..end`, where the target has only markers."""
    found = next(_records(source, place, first, end), None)
    return found.offset if found else None


def compare(source: SourceView, place: Place, tail: Batch) -> int:
    """What the source still holds where the target's last batch stands must be the same. The epoch of its leader then.

    MirrorError: it is not the same.
    """
    first, end = tail.header.first, tail.header.end
    batches = list(source.copyable(place.source, place.partition, first, end))
    theirs = {record.offset: record for batch in batches for record in batch.records if first <= record.offset < end}
    ours = {record.offset: record for record in tail.records}
    if any(ours.get(offset) != record for offset, record in theirs.items()):
        raise facts.diverged(place.source.name, first, end)
    bounds = source.bounds(place.source, place.partition)
    if bounds is not None and end > bounds[1]:
        raise facts.source_truncated(place.source.name, end, bounds[1])
    return batches[-1].header.leader_epoch if batches else -1


class Skipped(NamedTuple):
    """The source offset behind records that were passed over, and where these stand."""

    next_offset: int
    stretches: list[Stretch]


def skip_records(source: SourceView, place: Place, first: int, count: int, tail: Batch | None) -> Skipped:
    """Pass over `count` records to copy from `first` on; the last ones must be those of `tail`."""
    passed: list[Stretch] = []
    if not count or tail is None:
        return Skipped(first, passed)
    recent: list[tuple[int, bytes]] = []
    for batch in source.copyable(place.source, place.partition, first, _ANY_OFFSET):
        whole = batch.header.first >= first and batch.header.records <= count
        if whole and count - batch.header.records > tail.header.records:
            count -= batch.header.records
            passed += batch.stretches
            continue
        for record in batch.records:
            if record.offset < first:
                continue
            recent.append((record.timestamp, record.content))
            passed.append((record.offset, 1))
            count -= 1
            if count == 0:
                wanted = [(r.timestamp, r.content) for r in tail.records]
                if recent[-len(wanted) :] == wanted:
                    return Skipped(record.offset + 1, passed)
                break
        if count == 0:
            break
    raise facts.position_unknown(
        f"the target's last batch (offsets {tail.header.first}..{tail.header.end - 1}) is not what the source "
        f"{place.source.name} holds behind offset {first}"
    )


def skip_written(source: SourceView, target: Cluster, place: Place, first: int, log_start: int, log_end: int) -> int:
    """The source offset after all records from `first` on that stand at the target's end already."""
    bounds = source.bounds(place.source, place.partition)
    tail = read_tail(target, place.target, place.target_partition, log_start, log_end)
    if bounds is None or tail is None or first_record(source, place, first, bounds[1]) is None:
        return first
    by_time = not tail.header.is_log_append_time

    def written(offsets: int) -> list[int]:
        begin = max(log_start, log_end - offsets)
        batches = data_batches(target, place.target, place.target_partition, begin, log_end)
        return [_hashed(record, by_time) for batch in batches for record in batch.records]

    before = [_hashed(record, by_time) for record in _records(source, place, max(0, first - LOOK_BACK), first)]
    last = written(2 * LOOK_BACK)[-len(before) :]
    if before and last and last == before[-len(last) :]:
        return first
    # With transactions there is a marker for each few records.
    there = written(2 * min(bounds[1] - first, MOST_RECORDS) + LOOK_BACK)
    coming = [
        (record.offset + 1, _hashed(record, by_time))
        for record in islice(_records(source, place, first, bounds[1]), len(there))
    ]
    skipped = longest_overlap(there, [found for _, found in coming])
    return coming[skipped - 1][0] if skipped else first


def _records(source: SourceView, place: Place, first: int, end: int) -> Iterator[PlainRecord]:
    for batch in source.copyable(place.source, place.partition, first, end):
        yield from (record for record in batch.records if first <= record.offset < end)


def _hashed(record: PlainRecord, by_time: bool) -> int:
    return hash((record.timestamp if by_time else 0, record.content))
