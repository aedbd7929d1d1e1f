"""ListOffsets (api 2): where logs begin and end.

v5, classic encoding, is known to every broker from 2.2 on. A consumer is told the high watermark or, if it reads
committed data, the last stable offset; a debugging replica the leader's log end.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sparkmirror.protocol.wire import Reader, encode_string

API_KEY = 2
VERSION = 5
FLEXIBLE_FROM = 6

CONSUMER = -1
DEBUGGER = -2
LATEST = -1
EARLIEST = -2

# replica id, isolation level
_HEAD = struct.Struct(">ib")
# partition, current leader epoch, timestamp
_PARTITION = struct.Struct(">iiq")
# partition, error code, timestamp, offset, leader epoch
_ANSWER = struct.Struct(">ihqqi")
_I32 = struct.Struct(">i")

Partition = tuple[str, int]


def encode_list_offsets(
    partitions: Mapping[Partition, int], when: int, *, replica: int = CONSUMER, isolation: int = 0
) -> bytes:
    """`partitions` with the leader epoch that is known of each, -1 for none: a leader of another refuses."""
    by_topic: dict[str, list[tuple[int, int]]] = {}
    for (topic, partition), epoch in partitions.items():
        by_topic.setdefault(topic, []).append((partition, epoch))
    out = [_HEAD.pack(replica, isolation), _I32.pack(len(by_topic))]
    for topic, indexes in by_topic.items():
        out += [encode_string(topic), _I32.pack(len(indexes))]
        out += [_PARTITION.pack(index, epoch, when) for index, epoch in indexes]
    return b"".join(out)


def parse_list_offsets(frame: memoryview) -> dict[Partition, tuple[int, int]]:
    """Error code and offset by partition."""
    reader = Reader(frame, flexible=False)
    reader.int32()
    found: dict[Partition, tuple[int, int]] = {}
    for _ in range(reader.array()):
        topic = reader.string() or ""
        for _ in range(reader.array()):
            partition, error, _, offset, _ = reader.unpack(_ANSWER)
            found[topic, partition] = (error, offset)
    return found
