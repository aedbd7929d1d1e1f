"""Lets the target's log begin where the source's does.

    source log                          | 50,000,000 ...
    target log   | filler | filler | ...| 50,000,000 ...
                 `---- removed by DeleteRecords

Filler carries the flow's producer id and sequences, so it is guarded as data is. A broker that dies forgets a new log
start, so the wanted one stands in the progress record and each lease sees to it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sparkmirror.batch.filler import MOST_RECORDS, build_filler
from sparkmirror.batch.header import split_batches
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.queue import PRODUCER_EPOCH, SEQUENCE_MASK
from sparkmirror.errors import BrokerError, ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.delete import delete_records
from sparkmirror.net.denial import raise_refused
from sparkmirror.net.log import append_batch, fetch_partition, raise_unread
from sparkmirror.net.offsets import EARLIEST, list_offsets
from sparkmirror.net.topics import fetch_topic_ids
from sparkmirror.protocol import codes
from sparkmirror.topology.right import TOPIC, Right


def why_not_fillable(target: Cluster, place: Place) -> str:
    """Why the target's log can't begin above 0; empty if it can. Removing nothing asks for the same right."""
    try:
        _delete_records(target, place, 0)
    except BrokerError as error:
        if error.code in codes.PASSING:
            raise
        return f"the source's log does not begin at 0, and the target's can't: {error}"
    return ""


def fill_up_to_start(
    target: Cluster,
    place: Place,
    position: Position,
    producer_id: int,
    timestamp: int,
    may_write: Callable[[], bool],
) -> Position:
    """Fill the target up to `position.log_start`, as long as the lease permits; the position after it."""
    while position.target_next < position.log_start:
        if not may_write():
            raise ConnectionLostError("the lease ended while the target's log was filled up to the source's start")
        records = min(MOST_RECORDS, position.log_start - position.target_next)
        sequence = (position.last_sequence + 1) & SEQUENCE_MASK
        batch = build_filler(records, timestamp, producer_id, PRODUCER_EPOCH, sequence)
        first = append_batch(target, place.target, place.target_partition, bytes(batch))
        if first != position.target_next:
            raise ConnectionLostError(f"filler was appended at {first} where {position.target_next} was expected")
        position = replace(
            position,
            target_next=first + records,
            last_sequence=(sequence + records - 1) & SEQUENCE_MASK,
        )
    return position


def ensure_log_start(target: Cluster, place: Place, wanted: int) -> None:
    """Remove what stands before `wanted`, if anything does."""
    key = place.target_key
    leaders = {key: place.target_leader}
    if list_offsets(target, leaders, EARLIEST).get(key, wanted) < wanted:
        _require_same(target, place)
        _delete_records(target, place, wanted)


def _require_same(target: Cluster, place: Place) -> None:
    """Records are removed by the topic's name. One that was made anew since the position was found keeps its own."""
    found = fetch_topic_ids(target, {place.target_key: place.target_leader}).get(place.target.name, "")
    if found != place.target_id:
        raise ConnectionLostError(f"{place.target.name} was made anew while its log's start was seen to")


def _delete_records(target: Cluster, place: Place, before: int) -> None:
    key = place.target_key
    answer = delete_records(target, {key: place.target_leader}, {key: before})
    code = answer.get(key, codes.LEADER_NOT_AVAILABLE)
    what = f"{key[0]}-{key[1]}: records before {before} can't be removed"
    raise_refused(target.address, what, code, Right("DELETE", TOPIC, key[0]))


def first_timestamp(source: Cluster, place: Place, offset: int) -> int:
    """Filler is as old as the first real record: it neither keeps a segment nor ends the producer's memory early.

    A source that can't be read there does not begin there, whatever it said: nothing is filled.
    """
    fetched = fetch_partition(source, place.source, place.partition, offset, max_bytes=1)
    raise_unread(source, place.source, place.partition, fetched.error)
    now = int(time.time() * 1000)
    return next((h.base_timestamp for h, _ in split_batches(fetched.records) if h.magic == 2), now)
