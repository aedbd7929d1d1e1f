"""Produce (api 0) in the two dialects that cover every broker from 2.4 on.

    v8    topics by name, classic encoding
    v13   topics by id, flexible encoding: a recreated topic fails with UNKNOWN_TOPIC_ID

A broker takes exactly one batch a partition a request (KIP-98), so `batches` has one view each.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sparkmirror.protocol.fetch import TopicKey
from sparkmirror.protocol.wire import Reader, encode_string, encode_uvarint

API_KEY = 0
BY_NAME = 8
BY_ID = 13
FLEXIBLE_FROM = 9

ALL_IN_SYNC = -1

# acks, timeout ms
_HEAD = struct.Struct(">hi")
_I32 = struct.Struct(">i")
# partition, error code, base offset, log append time ms, log start offset
_ANSWER = struct.Struct(">ihqqq")
# The same with what nearly every answer ends with: no record errors, no message, no tags.
_SHORT_ANSWER = struct.Struct(">ihqqq3s")
_NOTHING_WRONG = b"\1\0\0"

Buffer = bytes | bytearray | memoryview


class ProducedPartition(NamedTuple):
    """What a broker says of one batch; `faulty`: which of its records are at fault, by their place in it (KIP-467)."""

    topic: TopicKey
    partition: int
    error: int
    base_offset: int
    log_start: int
    message: str | None
    faulty: tuple[int, ...] = ()


def encode_produce(
    version: int,
    topics: Mapping[TopicKey, Sequence[tuple[int, Buffer]]],
    *,
    timeout_ms: int,
    acks: int = ALL_IN_SYNC,
) -> list[Buffer]:
    """The body of a Produce request as pieces for `sendmsg`: batches are passed on, never copied."""
    by_id = version == BY_ID
    head = (b"\0" if by_id else b"\xff\xff") + _HEAD.pack(acks, timeout_ms)
    head += encode_uvarint(len(topics) + 1) if by_id else _I32.pack(len(topics))
    out: list[Buffer] = []
    for topic, batches in topics.items():
        head += encode_string(topic) if isinstance(topic, str) else topic
        head += encode_uvarint(len(batches) + 1) if by_id else _I32.pack(len(batches))
        for partition, batch in batches:
            size = len(batch)
            head += _I32.pack(partition) + (encode_uvarint(size + 1) if by_id else _I32.pack(size))
            out += (head, batch)
            head = b"\0" if by_id else b""
        head += b"\0" if by_id else b""
    head += b"\0" if by_id else b""
    if head:
        out.append(head)
    return out


def parse_produce(version: int, frame: memoryview) -> tuple[int, list[ProducedPartition]]:
    """A Produce response, after its header: throttle time in ms and one answer a batch."""
    reader = Reader(frame, flexible=version >= FLEXIBLE_FROM)
    answers: list[ProducedPartition] = []
    for _ in range(reader.array()):
        topic: TopicKey = reader.uuid() if version == BY_ID else reader.string() or ""
        count = reader.array()
        short = _parse_short(reader, topic, count) if reader.flexible else None
        answers += [_parse_partition(reader, topic) for _ in range(count)] if short is None else short
        reader.skip_tags()
    throttle_ms = reader.int32()
    reader.skip_tags()
    return throttle_ms, answers


def _parse_short(reader: Reader, topic: TopicKey, count: int) -> list[ProducedPartition] | None:
    """All answers for a topic at once; None: one of them has more to say."""
    found = []
    for partition, error, base_offset, _append_time, log_start, rest in reader.peek(_SHORT_ANSWER, count):
        if rest != _NOTHING_WRONG:
            return None
        found.append(ProducedPartition(topic, partition, error, base_offset, log_start, None))
    if len(found) < count:
        return None
    reader.position += count * _SHORT_ANSWER.size
    return found


def _parse_partition(reader: Reader, topic: TopicKey) -> ProducedPartition:
    partition, error, base_offset, _append_time, log_start = reader.unpack(_ANSWER)
    faulty = []
    for _ in range(reader.array()):
        faulty.append(reader.int32())
        reader.string()
        reader.skip_tags()
    message = reader.string()
    reader.skip_tags()
    return ProducedPartition(topic, partition, error, base_offset, log_start, message, tuple(faulty))
