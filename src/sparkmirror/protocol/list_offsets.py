"""ListOffsets (api 2) as a debugging replica: the leader's log end, which a consumer does not see.

v2, classic encoding, is known to every broker from 0.11 on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sparkmirror.protocol.wire import Reader, encode_string

API_KEY = 2
VERSION = 2
DEBUGGER = -2
LATEST = -1

# replica id, isolation level
_HEAD = struct.Struct(">ib")
# partition, timestamp
_PARTITION = struct.Struct(">iq")
# partition, error code, timestamp, offset
_ANSWER = struct.Struct(">ihqq")
_I32 = struct.Struct(">i")

Partition = tuple[str, int]


def encode_log_ends(partitions: Iterable[Partition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    out = [_HEAD.pack(DEBUGGER, 0), _I32.pack(len(by_topic))]
    for topic, indexes in by_topic.items():
        out += [encode_string(topic), _I32.pack(len(indexes))]
        out += [_PARTITION.pack(index, LATEST) for index in indexes]
    return b"".join(out)


def parse_log_ends(frame: memoryview) -> dict[Partition, tuple[int, int]]:
    """Error code and log end by partition."""
    reader = Reader(frame, flexible=False)
    reader.int32()
    found: dict[Partition, tuple[int, int]] = {}
    for _ in range(reader.array()):
        topic = reader.string() or ""
        for _ in range(reader.array()):
            partition, error, _, offset = reader.unpack(_ANSWER)
            found[topic, partition] = (error, offset)
    return found
