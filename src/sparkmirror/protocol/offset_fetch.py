"""OffsetFetch (api 9): all that groups have committed.

    v5    one group, classic encoding: brokers before 2.5
    v7    one group, flexible; can ask for stable offsets: brokers before 3.0
    v8    many groups

Newer versions are for members of consumer groups (KIP-848) or name topics by id: for one who is no member v8 does.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from sparkmirror.protocol.committed import Committed, Partition
from sparkmirror.protocol.wire import Reader, encode_compact_string, encode_string, encode_uvarint

API_KEY = 9
ONE_GROUP = 5
ONE_GROUP_STABLE = 7
MANY_GROUPS = 8
VERSIONS = (MANY_GROUPS, ONE_GROUP_STABLE, ONE_GROUP)
FLEXIBLE_FROM = 6

_ALL_TOPICS = struct.pack(">i", -1)
# partition, offset, leader epoch
_PARTITION = struct.Struct(">iqi")
# No metadata, no error, no tags: nearly every partition.
_PLAIN = b"\0\0\0\0"
_PLAIN_FLEXIBLE = b"\1\0\0\0"


class GroupOffsets(NamedTuple):
    """`error` is the group's or, if it has none, that of one of its partitions."""

    error: int
    offsets: dict[Partition, Committed]


def encode_offset_fetch(version: int, groups: Sequence[str], *, require_stable: bool = False) -> bytes:
    """In the versions for one group, the first one is asked for."""
    if version == ONE_GROUP:
        return encode_string(groups[0]) + _ALL_TOPICS
    end = bytes((require_stable, 0))
    if version == ONE_GROUP_STABLE:
        return encode_compact_string(groups[0]) + b"\0" + end
    wanted = b"".join(encode_compact_string(group) + b"\0\0" for group in groups)
    return encode_uvarint(len(groups) + 1) + wanted + end


def parse_offset_fetch(version: int, frame: memoryview, groups: Sequence[str]) -> dict[str, GroupOffsets]:
    """By group; `groups` as they were asked for."""
    reader = Reader(frame, flexible=version >= FLEXIBLE_FROM)
    reader.int32()  # throttle time
    if version < MANY_GROUPS:
        return {groups[0]: _parse_group(reader)}
    found = {reader.string() or "": _parse_group(reader) for _ in range(reader.array())}
    reader.skip_tags()
    return found


def _parse_group(reader: Reader) -> GroupOffsets:
    offsets: dict[Partition, Committed] = {}
    of_partitions = 0
    for _ in range(reader.array()):
        of_partitions = _parse_topic(reader, offsets) or of_partitions
        reader.skip_tags()
    of_group = reader.int16()
    reader.skip_tags()
    return GroupOffsets(of_group or of_partitions, offsets)


def _parse_topic(reader: Reader, offsets: dict[Partition, Committed]) -> int:
    """Adds what is committed; an error code if some partition has one."""
    topic = reader.string() or ""
    plain = _PLAIN_FLEXIBLE if reader.flexible else _PLAIN
    failed = 0
    for _ in range(reader.array()):
        partition, offset, epoch = reader.unpack(_PARTITION)
        metadata, error = "", 0
        if not reader.skips(plain):
            metadata, error = reader.string() or "", reader.int16()
            reader.skip_tags()
        if error:
            failed = error
        elif offset >= 0:
            offsets[topic, partition] = Committed(offset, metadata, epoch)
    return failed
