"""WriteTxnMarkers (api 27): one control batch, one offset, for each marker and partition that it names.

    v0    classic encoding
    v1    the same, flexible

A marker that belongs to no transaction is invisible to every reader, so a hole of n offsets is n markers. They
carry the flow's producer id and epoch 0, as its data does, and the lease's generation as coordinator epoch: the leader
refuses a lower one than it has seen.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from sparkmirror.protocol.wire import Reader, encode_compact_string, encode_string, encode_uvarint

API_KEY = 27
FLEXIBLE_FROM = 1
MOST_MARKERS = 1000

# producer id, producer epoch, commit?
_MARKER = struct.Struct(">qhb")
_I32 = struct.Struct(">i")

Partition = tuple[str, int]


def encode_markers(
    version: int, wanted: Mapping[Partition, int], *, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> list[bytes]:
    """The body of a request that writes so many markers into each partition, as pieces.

    The first entry names all partitions, later ones those that want more: as many entries as the largest
    wish, however many partitions there are.
    """
    flexible = version >= FLEXIBLE_FROM
    front = _MARKER.pack(producer_id, producer_epoch, 0)
    back = _I32.pack(coordinator_epoch) + (b"\0" if flexible else b"")
    most = max(wanted.values(), default=0)
    pieces = [encode_uvarint(most + 1) if flexible else _I32.pack(most)]
    done = 0
    for level in sorted(set(wanted.values())):
        topics = _encode_topics([p for p, count in wanted.items() if count >= level], flexible)
        pieces.append((front + topics + back) * (level - done))
        done = level
    return [*pieces, b"\0"] if flexible else pieces


def parse_markers(version: int, frame: memoryview) -> dict[Partition, int]:
    """Error codes by partition. All markers of one producer share an answer: the first error of each counts."""
    reader = Reader(frame, flexible=version >= FLEXIBLE_FROM)
    found: dict[Partition, int] = {}
    for _ in range(reader.array()):
        reader.int64()
        for _ in range(reader.array()):
            topic = reader.string() or ""
            for _ in range(reader.array()):
                partition, error = reader.int32(), reader.int16()
                reader.skip_tags()
                found[topic, partition] = found.get((topic, partition)) or error
            reader.skip_tags()
        reader.skip_tags()
    reader.skip_tags()
    return found


def _encode_topics(partitions: Sequence[Partition], flexible: bool) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    tags = b"\0" if flexible else b""
    out = [_count(len(by_topic), flexible)]
    for topic, indexes in by_topic.items():
        out.append(encode_compact_string(topic) if flexible else encode_string(topic))
        out.append(_count(len(indexes), flexible))
        out.extend(_I32.pack(index) for index in indexes)
        out.append(tags)
    return b"".join(out)


def _count(count: int, flexible: bool) -> bytes:
    return encode_uvarint(count + 1) if flexible else _I32.pack(count)
