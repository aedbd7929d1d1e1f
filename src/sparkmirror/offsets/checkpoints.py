"""Checkpoints in MirrorMaker 2's bytes: records of `<source>.checkpoints.internal` on the target, partition 0.

Each says where a consumer group of the source would go on in the target.

key    STRING group, STRING topic (its name on the target), INT32 partition
value  INT16 version (0), INT64 upstream offset, INT64 downstream offset, STRING metadata

The upstream offset is the one that the group committed at the source, the metadata what it committed with it. No
tombstones: Kafka's own MirrorClient ends with an error where it reads one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.wire import Reader, encode_string

VERSION = 0
_PARTITION = struct.Struct(">i")
_OFFSETS = struct.Struct(">hqq")
_KNOWN = b"\0\0"  # VERSION, as it is encoded
_DOWNSTREAM = 10  # where its first byte is
_NEGATIVE = 0x80
_LEAST_VALUE = _OFFSETS.size + 2


class Checkpoint(NamedTuple):
    """`written_ms`: when its record was written, -1 where that is not asked for."""

    group: str
    topic: str
    partition: int
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""
    written_ms: int = -1


def encode_key(group: str, topic: str, partition: int) -> bytes:
    return encode_string(group) + encode_string(topic) + _PARTITION.pack(partition)


def encode_value(upstream_offset: int, downstream_offset: int, metadata: str = "") -> bytes:
    return _OFFSETS.pack(VERSION, upstream_offset, downstream_offset) + encode_string(metadata)


def is_value(value: bytes) -> bool:
    """Whether it is worth a look: of a version that we know, with an offset, and not cut short."""
    return len(value) >= _LEAST_VALUE and value[: len(_KNOWN)] == _KNOWN and value[_DOWNSTREAM] < _NEGATIVE


def parse_record(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    """None for what is no checkpoint of a version that we know. Bytes behind the fields are passed over, as in Java."""
    try:
        keys, values = Reader(memoryview(key or b""), flexible=False), Reader(memoryview(value or b""), flexible=False)
        group, topic, partition = keys.string(), keys.string(), keys.int32()
        version, upstream_offset, downstream_offset = values.unpack(_OFFSETS)
        metadata = values.string()
    except ProtocolError:
        return None
    if version != VERSION or group is None or topic is None or metadata is None or downstream_offset < 0:
        return None
    return Checkpoint(group, topic, partition, upstream_offset, downstream_offset, metadata)
