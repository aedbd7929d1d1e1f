"""OffsetCommit (api 8): one group's offsets, written by one who is no member of it.

v7, classic encoding, is known to every broker from 2.3 on. Newer versions name topics by id or are for members of
consumer groups (KIP-848): for one who is no member v7 does the same. The answer has errors by partition only, also
those that are about the group.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sparkmirror.protocol.committed import Committed, Partition
from sparkmirror.protocol.wire import Reader, encode_string

API_KEY = 8
VERSION = 7
FLEXIBLE_FROM = 8

# No generation, no member id, no instance id: the group must be empty.
_NO_MEMBER = struct.pack(">ihh", -1, 0, -1)
# partition, offset, leader epoch
_PARTITION = struct.Struct(">iqi")
# the same, and metadata of no length
_PLAIN = struct.Struct(">iqih")
# partition, error code
_ANSWER = struct.Struct(">ih")
_I32 = struct.Struct(">i")


def encode_offset_commit(group: str, offsets: Mapping[Partition, Committed]) -> bytes:
    by_topic: dict[str, list[bytes]] = {}
    for (topic, partition), (offset, metadata, epoch) in offsets.items():
        if metadata:
            encoded = _PARTITION.pack(partition, offset, epoch) + encode_string(metadata)
        else:
            encoded = _PLAIN.pack(partition, offset, epoch, 0)
        by_topic.setdefault(topic, []).append(encoded)
    out = [encode_string(group), _NO_MEMBER, _I32.pack(len(by_topic))]
    for topic, partitions in by_topic.items():
        out += [encode_string(topic), _I32.pack(len(partitions)), *partitions]
    return b"".join(out)


def parse_offset_commit(frame: memoryview) -> dict[Partition, int]:
    """Error codes by partition."""
    reader = Reader(frame, flexible=False)
    reader.int32()  # throttle time
    found: dict[Partition, int] = {}
    for _ in range(reader.array()):
        topic = reader.string() or ""
        for _ in range(reader.array()):
            partition, error = reader.unpack(_ANSWER)
            found[topic, partition] = error
    return found
