"""ConsumerGroupDescribe (api 69): groups of the consumer protocol (KIP-848), which DescribeGroups does not find.

v0, flexible, from 3.7 on. Of the members only their number is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkmirror.protocol.wire import UUID_BYTES, Reader, encode_compact_string, encode_uvarint

API_KEY = 69
VERSION = 0
FLEXIBLE_FROM = 0

_I32 = 4
# No authorized operations, no tags.
_END = b"\0\0"


class DescribedGroup(NamedTuple):
    error: int
    group: str
    state: str
    members: int


def encode_describe_consumer_groups(groups: Sequence[str]) -> bytes:
    return encode_uvarint(len(groups) + 1) + b"".join(map(encode_compact_string, groups)) + _END


def parse_describe_consumer_groups(frame: memoryview) -> list[DescribedGroup]:
    reader = Reader(frame, flexible=True)
    reader.int32()  # throttle time
    found = [_parse_group(reader) for _ in range(reader.array())]
    reader.skip_tags()
    return found


def _parse_group(reader: Reader) -> DescribedGroup:
    error = reader.int16()
    reader.string()  # error message
    group, state = reader.string() or "", reader.string() or ""
    reader.take(2 * _I32)  # the group's and the assignment's epoch
    reader.string()  # assignor
    members = reader.array()
    for _ in range(members):
        _skip_member(reader)
    reader.int32()  # authorized operations
    reader.skip_tags()
    return DescribedGroup(error, group, state, members)


def _skip_member(reader: Reader) -> None:
    for _ in range(3):  # member, instance, rack
        reader.string()
    reader.int32()  # epoch
    for _ in range(2):  # client, host
        reader.string()
    for _ in range(reader.array()):  # subscribed topics
        reader.string()
    reader.string()  # subscribed pattern
    for _ in range(2):  # assignment, target assignment
        for _ in range(reader.array()):
            reader.take(UUID_BYTES)
            reader.string()
            reader.take(_I32 * reader.array())
            reader.skip_tags()
        reader.skip_tags()
    reader.skip_tags()
