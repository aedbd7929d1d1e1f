"""Offset syncs in MirrorMaker 2's bytes: records of `mm2-offset-syncs.<other>.internal`, partition 0.

Each says that the record at one offset of the source stands at another one in the target.

key    STRING topic (its name at the source), INT32 partition
value  INT64 upstream offset, INT64 downstream offset            there is no version
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.wire import Reader, encode_string

_PARTITION = struct.Struct(">i")
_OFFSETS = struct.Struct(">qq")


class OffsetSync(NamedTuple):
    topic: str
    partition: int
    upstream_offset: int
    downstream_offset: int


def encode_key(topic: str, partition: int) -> bytes:
    return encode_string(topic) + _PARTITION.pack(partition)


def encode_value(upstream_offset: int, downstream_offset: int) -> bytes:
    return _OFFSETS.pack(upstream_offset, downstream_offset)


def parse_record(key: bytes | None, value: bytes | None) -> OffsetSync | None:
    """None for what is no offset sync. Bytes behind the fields are passed over, as in Java."""
    try:
        keys, values = Reader(memoryview(key or b""), flexible=False), Reader(memoryview(value or b""), flexible=False)
        topic, partition = keys.string(), keys.int32()
        upstream_offset, downstream_offset = values.unpack(_OFFSETS)
    except ProtocolError:
        return None
    if topic is None:
        return None
    return OffsetSync(topic, partition, upstream_offset, downstream_offset)
