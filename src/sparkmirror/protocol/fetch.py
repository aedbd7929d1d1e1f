"""Fetch (api 1) in the two dialects that cover every broker from 2.3 on.

    v11   topics by name, classic encoding: brokers without topic ids (before 3.1)
    v13   topics by id, flexible encoding: a recreated topic fails with UNKNOWN_TOPIC_ID

Sessions (KIP-227) work the same in both: a request names only partitions that changed, a response only
those that have something to say.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.wire import Reader, encode_compact_string, encode_string, encode_uvarint

API_KEY = 1
BY_NAME = 11
BY_ID = 13
FLEXIBLE_FROM = 12

FULL_SESSION_EPOCH = 0
CLOSE_SESSION_EPOCH = -1

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

# replica id, max wait ms, min bytes, max bytes, isolation level, session id, session epoch
HEAD = struct.Struct(">iiiibii")
# partition, current leader epoch, fetch offset, log start offset, partition max bytes
_PARTITION_BY_NAME = struct.Struct(">iiqqi")
# the same with the last fetched epoch after the fetch offset
_PARTITION_BY_ID = struct.Struct(">iiqiqi")
_I32 = struct.Struct(">i")
# partition, error code, high watermark, last stable offset, log start offset
_ANSWER = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")
# What an answer may list: each entry takes ten times as much memory as its bytes.
MOST_PARTITIONS = 100_000
MOST_ABORTED = 1_000_000
# tagged: epoch and end offset up to which both logs are the same
_DIVERGING_TAG = 0

# A topic's name (v11) or its 16-byte id (v13).
TopicKey = str | bytes


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """What a request asks of one partition."""

    partition: int
    leader_epoch: int
    offset: int
    max_bytes: int
    last_epoch: int = -1  # leader epoch of the last record that was fetched; -1: the broker compares nothing


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """What a response says of one partition. `records` is a view onto the response."""

    topic: TopicKey
    partition: int
    error: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    preferred_replica: int
    records: memoryview
    is_diverging: bool = False  # the leader's log is not the one that was fetched from so far


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    throttle_ms: int
    error: int
    session_id: int
    partitions: list[FetchedPartition]


def encode_fetch(
    version: int,
    topics: Mapping[TopicKey, Sequence[FetchPartition]],
    *,
    max_wait_ms: int,
    max_bytes: int,
    min_bytes: int = 1,
    isolation: int = READ_COMMITTED,
    session_id: int = 0,
    session_epoch: int = CLOSE_SESSION_EPOCH,
    forgotten: Mapping[TopicKey, Sequence[int]] | None = None,
    rack: str = "",
) -> bytes:
    """The body of a Fetch request. The default epoch -1 with session 0 asks for no session."""
    by_id = version == BY_ID
    out = [HEAD.pack(-1, max_wait_ms, min_bytes, max_bytes, isolation, session_id, session_epoch)]
    out.append(_encode_count(len(topics), by_id))
    for topic, partitions in topics.items():
        out.append(_encode_topic(topic))
        out.append(_encode_count(len(partitions), by_id))
        out.extend(_encode_partitions(partitions, by_id))
        out.append(b"\0" if by_id else b"")
    forgotten = forgotten or {}
    out.append(_encode_count(len(forgotten), by_id))
    for topic, indexes in forgotten.items():
        out.append(_encode_topic(topic))
        out.append(_encode_count(len(indexes), by_id))
        out.extend(_I32.pack(index) for index in indexes)
        out.append(b"\0" if by_id else b"")
    out.append(_encode_rack(rack, by_id))
    return b"".join(out)


def encode_tail(version: int, rack: str) -> bytes:
    """How the body of a request ends that forgets no partition."""
    by_id = version == BY_ID
    return _encode_count(0, by_id) + _encode_rack(rack, by_id)


def parse_fetch(version: int, frame: memoryview) -> FetchAnswer:
    """A Fetch response, after its header."""
    reader = Reader(frame, flexible=version >= FLEXIBLE_FROM)
    throttle_ms, error, session_id = reader.int32(), reader.int16(), reader.int32()
    partitions: list[FetchedPartition] = []
    for _ in range(reader.array()):
        topic: TopicKey = reader.uuid() if version == BY_ID else reader.string() or ""
        count = reader.array()
        if len(partitions) + count > MOST_PARTITIONS:
            raise ProtocolError(f"a fetch that answers for more than {MOST_PARTITIONS} partitions")
        partitions.extend(_parse_partition(reader, topic) for _ in range(count))
        reader.skip_tags()
    reader.skip_tags()
    return FetchAnswer(throttle_ms, error, session_id, partitions)


def _parse_partition(reader: Reader, topic: TopicKey) -> FetchedPartition:
    partition, error, high_watermark, last_stable, log_start = reader.unpack(_ANSWER)
    aborted = []
    count = reader.array()
    if count > MOST_ABORTED:
        raise ProtocolError(f"a fetch that lists {count} aborted transactions")
    for _ in range(count):
        producer_id, first = reader.unpack(_ABORTED)
        aborted.append((producer_id, first))
        reader.skip_tags()
    preferred = reader.int32()
    records = reader.records()
    seen: list[int] = []
    reader.skip_tags({_DIVERGING_TAG: lambda field: seen.append(field.int32())})
    return FetchedPartition(
        topic, partition, error, high_watermark, last_stable, log_start, tuple(aborted), preferred, records, bool(seen)
    )


def _encode_rack(rack: str, by_id: bool) -> bytes:
    return encode_compact_string(rack) + b"\0" if by_id else encode_string(rack)


def _encode_count(count: int, flexible: bool) -> bytes:
    return encode_uvarint(count + 1) if flexible else _I32.pack(count)


def _encode_topic(topic: TopicKey) -> bytes:
    return encode_string(topic) if isinstance(topic, str) else topic


def _encode_partitions(partitions: Sequence[FetchPartition], by_id: bool) -> Iterable[bytes]:
    for p in partitions:
        if by_id:
            yield _PARTITION_BY_ID.pack(p.partition, p.leader_epoch, p.offset, p.last_epoch, -1, p.max_bytes) + b"\0"
        else:
            yield _PARTITION_BY_NAME.pack(p.partition, p.leader_epoch, p.offset, -1, p.max_bytes)
