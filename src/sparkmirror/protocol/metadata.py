"""Metadata (api 3): brokers, topics and who leads. Parsed here because a flow asks for all topics every few seconds.

    v8    classic encoding, from 2.3 on
    v12   flexible, with topic ids, from 3.1 on

The two differ in more than encoding: v8 ends with the cluster's authorized operations, v12 has topic ids.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from sparkmirror.protocol.wire import UUID_BYTES, Reader, encode_compact_string, encode_string, encode_uvarint

API_KEY = 3
BY_NAME = 8
WITH_IDS = 12
FLEXIBLE_FROM = 9

_NO_ID = bytes(UUID_BYTES)
_I32 = struct.Struct(">i")
# error code, partition, leader, leader epoch
_PARTITION = struct.Struct(">hiii")
# No automatic creation, and no authorized operations: of the cluster (v8 alone) and of topics.
_NO_EXTRAS = {BY_NAME: b"\0\0\0", WITH_IDS: b"\0\0\0"}


class BrokerPlace(NamedTuple):
    node: int
    host: str
    port: int


class PartitionPlace(NamedTuple):
    error: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: int


class TopicPlace(NamedTuple):
    error: int
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: list[PartitionPlace]


class MetadataAnswer(NamedTuple):
    cluster_id: str
    controller: int
    brokers: list[BrokerPlace]
    topics: list[TopicPlace]


def encode_metadata(version: int, topics: Sequence[str] | None) -> bytes:
    """`None`: all topics."""
    flexible = version >= FLEXIBLE_FROM
    count = -1 if topics is None else len(topics)
    out = [encode_uvarint(count + 1) if flexible else _I32.pack(count)]
    # With ids, a topic is named by a null id and its name.
    out += [_NO_ID + encode_compact_string(t) + b"\0" if flexible else encode_string(t) for t in topics or ()]
    out.append(_NO_EXTRAS[version])
    return b"".join(out)


def parse_metadata(version: int, frame: memoryview) -> MetadataAnswer:
    flexible = version >= FLEXIBLE_FROM
    reader = Reader(frame, flexible=flexible)
    reader.int32()  # throttle time
    brokers = []
    for _ in range(reader.array()):
        node, host, port = reader.int32(), reader.string() or "", reader.int32()
        reader.string()  # rack
        reader.skip_tags()
        brokers.append(BrokerPlace(node, host, port))
    cluster_id, controller = reader.string() or "", reader.int32()
    topics = [_parse_topic(reader, flexible) for _ in range(reader.array())]
    return MetadataAnswer(cluster_id, controller, brokers, topics)


def _parse_topic(reader: Reader, with_id: bool) -> TopicPlace:
    error, name = reader.int16(), reader.string() or ""
    topic_id = reader.uuid() if with_id else _NO_ID
    is_internal = reader.take(1)[0] != 0
    partitions = []
    for _ in range(reader.array()):
        place = reader.unpack(_PARTITION)
        replicas = reader.array()
        reader.take(4 * replicas)
        for _ in range(2):  # in-sync, offline: nothing that a client acts on
            reader.take(4 * reader.array())
        partitions.append(PartitionPlace._make((*place, replicas)))
        reader.skip_tags()
    reader.int32()  # authorized operations
    reader.skip_tags()
    return TopicPlace(error, name, topic_id, is_internal, partitions)
