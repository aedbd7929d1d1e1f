"""Finds where to go on: the target's log is the truth, everything else is only a hint.

    target log     | ... | our last batch |      <- leader's log end
                                          ^ next offset
    leader says    last sequence of our producer id = that of our last batch
    source log     | ... | the same batch | next ...

The quick way, for most leases: the leader's last sequence and log end are both those of a hint, so nothing
was written since. Else the tail check: read the last batch of the target's log, see that it is ours and ends in
exactly the sequence that the leader remembers, and compare it with the source's batch at that place.

Never from the high watermark alone: a slow follower keeps it behind what the leader holds, and copying from
there would append those records again. While it lags, the answer is "not yet" (the partition is left out).

The leader forgets a producer 24 h after its newest record's *timestamp* (`producer.id.expiration.ms`). For old data
the sequence then guards nothing, so the tail is believed only once no lease of an earlier driver can still
write: `unguarded_ok`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.batch.header import HEADER_BYTES, BatchHeader
from sparkmirror.copy.lease import Hint
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.log import fetch_batch_at
from sparkmirror.net.offsets import EARLIEST, LATEST, ProducerState, describe_producer, list_offsets

SEQUENCE_MASK = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Place:
    """A partition on both sides, with what the clusters' metadata says of its topics."""

    partition: int
    source: TopicInfo
    target: TopicInfo
    hint: Hint | None = None
    check_range: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """The next source offset to copy, which is also the next target offset, and the next sequence."""

    next_offset: int
    sequence: int


def first_sequence(source_offset: int) -> int:
    """Any first sequence is accepted, so it is the offset: the two stay readable side by side."""
    return source_offset & SEQUENCE_MASK


def next_sequence(last: int) -> int:
    return (last + 1) & SEQUENCE_MASK


def find_positions(
    source: Cluster,
    target: Cluster,
    places: list[Place],
    producer_id: int,
    *,
    unguarded_ok: bool,
) -> dict[int, Position | MirrorError]:
    """By index into `places`: a position or the fact that forbids one. Left out: not known yet."""
    leaders = {(p.target.name, p.partition): p.target.leaders[p.partition] for p in places}
    states = describe_producer(target, leaders, producer_id)
    ends = list_offsets(target, leaders, LATEST, log_end=True)
    found: dict[int, Position | MirrorError] = {}
    for index, place in enumerate(places):
        key = (place.target.name, place.partition)
        if key not in states or key not in ends:
            continue
        try:
            position = _decide(source, target, place, producer_id, states[key], ends[key], unguarded_ok)
            if position is not None and place.check_range:
                _check_range(source, place, position.next_offset)
        except MirrorError as error:
            found[index] = error
            continue
        if position is not None:
            found[index] = position
    return found


def _decide(
    source: Cluster,
    target: Cluster,
    place: Place,
    producer_id: int,
    state: ProducerState | None,
    log_end: int,
    unguarded_ok: bool,
) -> Position | None:
    hint = place.hint
    if state and hint and (state.last_sequence, log_end) == (hint.last_sequence, hint.target_end):
        return Position(hint.next_offset, next_sequence(state.last_sequence))
    if log_end == 0 and state is None:
        return _from_the_start(source, place)
    if state is None and not unguarded_ok:
        return None
    return _check_tail(source, target, place, producer_id, state, log_end)


def _from_the_start(source: Cluster, place: Place) -> Position | None:
    key = (place.source.name, place.partition)
    start = list_offsets(source, {key: place.source.leaders[place.partition]}, EARLIEST).get(key)
    if start is None:
        return None
    if start > 0:
        raise MirrorError(
            "log-start",
            f"the source's log starts at offset {start} and the target is empty: "
            "equal offsets need a target that starts there too, which can't be made yet",
        )
    return Position(0, first_sequence(0))


def _check_tail(
    source: Cluster,
    target: Cluster,
    place: Place,
    producer_id: int,
    state: ProducerState | None,
    log_end: int,
) -> Position | None:
    key = (place.target.name, place.partition)
    leader = {key: place.target.leaders[place.partition]}
    if list_offsets(target, leader, LATEST).get(key) != log_end:
        return None
    if list_offsets(target, leader, EARLIEST).get(key) == log_end:
        return _after_retention(place, state, log_end)
    tail = fetch_batch_at(target, place.target, place.partition, log_end - 1)
    if tail is None or tail[0].end != log_end:
        return None
    header = tail[0]
    if header.producer_id != producer_id or header.is_control:
        raise MirrorError(
            "foreign-data",
            f"the target topic {place.target.name} holds records up to offset {log_end - 1} that this flow did "
            "not write; delete the topic to mirror it anew, or mirror into another cluster or alias",
        )
    if state and header.last_sequence != state.last_sequence:
        return None
    _compare_with_source(source, place, header, tail[1])
    return Position(header.end, next_sequence(header.last_sequence))


def _after_retention(place: Place, state: ProducerState | None, log_end: int) -> Position:
    """The target kept no record. Then the progress record must say the same as its log end."""
    hint = place.hint
    if hint is None or hint.target_end != log_end or (state and state.last_sequence != hint.last_sequence):
        raise MirrorError(
            "position-unknown",
            f"the target's log is empty but ends at offset {log_end}, and no progress record says that this is "
            "where the mirror stood; delete the target topic to mirror it anew",
        )
    return Position(hint.next_offset, next_sequence(hint.last_sequence))


def _compare_with_source(source: Cluster, place: Place, ours: BatchHeader, bytes_there: memoryview) -> None:
    """The source must hold the same records there. What retention has removed can't be compared any more."""
    theirs = fetch_batch_at(source, place.source, place.partition, ours.first)
    if theirs is None:
        _check_range(source, place, ours.end)
        return
    header, bytes_here = theirs
    same = (
        (header.first, header.end, header.records) == (ours.first, ours.end, ours.records)
        and (header.base_timestamp, header.max_timestamp) == (ours.base_timestamp, ours.max_timestamp)
        and bytes_here[HEADER_BYTES:] == bytes_there[HEADER_BYTES:]
    )
    if not same:
        raise MirrorError(
            "diverged",
            f"the target's last batch (offsets {ours.first}..{ours.end - 1}) is not what the source "
            f"{place.source.name} holds there: the source was truncated, compacted or written anew",
        )


def _check_range(source: Cluster, place: Place, next_offset: int) -> None:
    """Name it if the source can't give the next offset: removed before it was copied, or not written any more."""
    key = (place.source.name, place.partition)
    leader = {key: place.source.leaders[place.partition]}
    start, end = list_offsets(source, leader, EARLIEST).get(key), list_offsets(source, leader, LATEST).get(key)
    if start is not None and next_offset < start:
        raise MirrorError(
            "gap",
            f"source offsets {next_offset}..{start - 1} were removed before they could be copied "
            "(retention or DeleteRecords)",
        )
    if end is not None and end < next_offset:
        raise MirrorError(
            "source-truncated",
            f"the target holds records up to offset {next_offset - 1} but the source's log ends at {end}",
        )
