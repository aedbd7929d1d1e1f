"""What the source holds, against what stands in the target: the evidence for a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from sparkmirror.batch.records import PlainRecord
from sparkmirror.copy import facts
from sparkmirror.copy.overlap import longest_overlap
from sparkmirror.copy.place import Place
from sparkmirror.copy.sides import NotYetError
from sparkmirror.copy.source_view import SourceView
from sparkmirror.copy.tail import Batch, content_of, data_batches, read_tail
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.run import Stretch

_ANY_OFFSET = 1 << 62
# A MirrorMaker 2 writes its offsets down once a minute. Who copied more than this since gets it once more.
MOST_RECORDS = 1_000_000
LOOKS_BACK = (1_000, 30_000, 1_000_000)  # offsets, until both sides hold a record
LOOK_BACK = 100  # offsets before it, to see that nothing was copied since


def first_record(source: SourceView, place: Place, first: int, end: int) -> int | None:
    """The first record that the source has in `first..end`, where the target has only markers."""
    found = next(_records(source, place, first, end), None)
    return found.offset if found else None


class Compared(NamedTuple):
    """`source_epoch`: of the leader that took the source's newest batch there. `seen`: the last offset at which both
    hold a record; -1: there is none, so nothing was compared."""

    source_epoch: int
    seen: int


def compare(source: SourceView, place: Place, tail: Batch) -> Compared:
    """What both still hold where a batch of the target stands must be the same. MirrorError: it is not."""
    first, end = tail.header.first, tail.header.end
    start, _ = source.bounds(place.source, place.partition) or (first, end)
    batches = list(source.copyable(place.source, place.partition, max(first, start), end))
    theirs = {record.offset: record for batch in batches for record in batch.records}
    by_time, seen = tail.by_time, -1
    for ours in tail.records:
        here = theirs.get(ours.offset)
        if here is None:
            continue
        if content_of(here, by_time) != content_of(ours, by_time):
            raise facts.diverged(place.source.name, first, end)
        seen = ours.offset
    return Compared(batches[-1].header.leader_epoch if batches else -1, seen)


def require_equal(source: SourceView, target: Cluster, producer_id: int, place: Place, first: int, end: int) -> bool:
    """What our records in `first..end` of the target say, of whose last batch the source holds nothing.

    It may have lost what stood there, to compaction or retention. Or these records stand elsewhere in the source, as
    offsets are translated and nothing says so; then both hold other records at some offset, or the record that the
    source has next is among ours:

        source   | hole ......... | a  b  c     next is a
        target   | a  b  c |                    and here it is

    Whether both hold the same record at any offset. MirrorError: offsets are not equal, or too much would have to be
    read to know it.
    """
    start, _ = source.bounds(place.source, place.partition) or (first, end)
    if next(_records(source, place, max(first, start), _ANY_OFFSET), None) is None:
        return False

    def ours(begin: int, until: int) -> Iterator[Batch]:
        batches = data_batches(target, place.target, place.target_partition, begin, until)
        return (batch for batch in batches if batch.header.producer_id == producer_id)

    seen = _last_seen(source, place, ours, max(first, start), end)
    behind = max(first, seen + 1)
    coming = next(_records(source, place, max(behind, start), _ANY_OFFSET), None)
    if coming is not None and (found := _find(coming, ours(behind, end))) is not None:
        raise facts.position_unknown(
            f"offsets are translated and no progress says so: the record at offset {coming.offset} of the source "
            f"{place.source.name} stands at the target's offset {found}"
        )
    return seen >= 0


def _last_seen(
    source: SourceView, place: Place, ours: Callable[[int, int], Iterator[Batch]], first: int, end: int
) -> int:
    """The last offset in `first..end` at which both hold a record, -1: there is none."""
    until = end
    for window in LOOKS_BACK:
        begin = max(first, end - window)
        seen = _compare_all(_records(source, place, begin, until), ours(begin, until), place)
        if seen >= 0 or begin == first:
            return seen
        until = begin
    raise facts.position_unknown(
        f"the source {place.source.name} holds nothing at the last {LOOKS_BACK[-1]} offsets of what was copied, so "
        "nothing tells whether offsets are equal"
    )


def _compare_all(theirs: Iterator[PlainRecord], ours: Iterator[Batch], place: Place) -> int:
    seen = -1
    there = next(theirs, None)
    for batch in ours:
        for record in batch.records:
            while there is not None and there.offset < record.offset:
                there = next(theirs, None)
            if there is not None and there.offset == record.offset:
                if content_of(there, batch.by_time) != content_of(record, batch.by_time):
                    raise facts.diverged(place.source.name, batch.header.first, batch.header.end)
                seen = record.offset
    return seen


def _find(wanted: PlainRecord, batches: Iterator[Batch]) -> int | None:
    """Where the same record stands."""
    for batch in batches:
        content = content_of(wanted, batch.by_time)
        for record in batch.records:
            if content_of(record, batch.by_time) == content:
                return record.offset
    return None


class Ending(NamedTuple):
    """The last of our records that the target holds, and how many of ours stood behind them."""

    tail: Batch
    behind: int = 0

    @property
    def size(self) -> int:
        return self.tail.header.end - self.tail.header.first

    def expected(self, count: int) -> dict[int, tuple[int, bytes]]:
        """What the records are, by their place among the last `count` of ours. Of a target that puts its own times
        on records these are not compared."""
        first = count - self.behind - self.size - self.tail.header.first
        by_time = self.tail.by_time
        found = {first + record.offset: content_of(record, by_time) for record in self.tail.records}
        return {index: content for index, content in found.items() if index >= 0}


class Skipped(NamedTuple):
    """The source offset behind records that were passed over, and where these stand."""

    next_offset: int
    stretches: list[Stretch]


def skip_records(source: SourceView, place: Place, first: int, count: int, ending: Ending | None) -> Skipped:
    """Pass over `count` records to copy from `first` on; the last ones must be those of `ending`."""
    if not count:
        return Skipped(first, [])
    expected = ending.expected(count) if ending else {}
    by_time = ending is not None and ending.tail.by_time
    if not expected:
        raise facts.position_unknown(
            f"{count} records of the source {place.source.name} were copied behind offset {first}, and the target "
            "holds none of them any more that could be compared"
        )
    passed: list[Stretch] = []
    begins, done = min(expected), 0
    for batch in source.copyable(place.source, place.partition, first, _ANY_OFFSET):
        if batch.header.first >= first and done + batch.header.records <= begins:
            done += batch.header.records
            _join(passed, batch.stretches)
            continue
        for record in batch.records:
            if record.offset < first:
                continue
            if done in expected and expected[done] != content_of(record, by_time):
                raise _not_found(place, first, ending)
            _join(passed, [(record.offset, 1)])
            done += 1
            if done == count:
                return Skipped(record.offset + 1, passed)
    raise _not_found(place, first, ending)


def step_back(source: SourceView, place: Place, end: int, lost: int, ending: Ending) -> int:
    """The offset of the record that came after `ending`, `lost` records to copy before `end`."""
    wanted = lost + ending.behind + ending.size
    bounds = source.bounds(place.source, place.partition)
    start = bounds[0] if bounds else 0
    window = 2 * wanted + LOOK_BACK
    while True:
        begin = max(start, end - window)
        there = sum(size for _, size in _stretches(source, place, begin, end))
        if there >= wanted or begin <= start:
            break
        window *= 8
    before = min(there, wanted) - lost  # records that should be the target's last ones
    if before <= ending.behind:
        raise facts.position_unknown(
            f"the target lost {lost} records, and the source {place.source.name} holds too few that came before them"
        )
    first = _offset_of(_stretches(source, place, begin, end), there - lost - before)
    return skip_records(source, place, first, before, ending).next_offset


def _offset_of(stretches: Iterator[Stretch], index: int) -> int:
    """The offset of the record that has `index` others before it."""
    for first, size in stretches:
        if index < size:
            return first + index
        index -= size
    raise NotYetError("the source's log changes while it is looked at")


def _stretches(source: SourceView, place: Place, begin: int, end: int) -> Iterator[Stretch]:
    """Where records to copy stand in `begin..end`."""
    for batch in source.copyable(place.source, place.partition, begin, end):
        for first, size in batch.stretches:
            within = range(max(first, begin), min(first + size, end))
            if within:
                yield within.start, len(within)


def _join(stretches: list[Stretch], more: list[Stretch]) -> None:
    for first, size in more:
        if stretches and sum(stretches[-1]) == first:
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + size)
        else:
            stretches.append((first, size))


def _not_found(place: Place, first: int, ending: Ending | None) -> MirrorError:
    tail = ending.tail.header if ending else None
    where = f" (offsets {tail.first}..{tail.end - 1})" if tail else ""
    return facts.position_unknown(
        f"the target's last batch{where} is not what the source {place.source.name} holds behind offset {first}"
    )


def skip_written(source: SourceView, target: Cluster, place: Place, first: int, log_start: int, log_end: int) -> int:
    """The source offset after all records from `first` on that stand at the target's end already."""
    bounds = source.bounds(place.source, place.partition)
    tail = read_tail(target, place.target, place.target_partition, log_start, log_end)
    if bounds is None or tail is None or tail.data is None:
        return first
    if first_record(source, place, first, bounds[1]) is None:
        return first
    by_time = tail.data.by_time

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
    return hash(content_of(record, by_time))
