"""Heartbeats in MirrorMaker 2's bytes: records of `heartbeats` on the target that say "this flow could write then".

key    STRING source alias, STRING target alias
value  INT16 version (0), INT64 timestamp in ms            the record has the same timestamp
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka.record.memory_records import MemoryRecordsBuilder

from sparkmirror.errors import ConnectionLostError, ProtocolError
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.denial import raise_hidden
from sparkmirror.net.log import append_batch
from sparkmirror.protocol.wire import Reader, encode_string

VERSION = 0
_VALUE = struct.Struct(">hq")
_BATCH_BYTES = 1024


class HeartbeatRecord(NamedTuple):
    source: str
    target: str
    timestamp_ms: int


def encode_key(source: str, target: str) -> bytes:
    return encode_string(source) + encode_string(target)


def encode_value(timestamp_ms: int) -> bytes:
    return _VALUE.pack(VERSION, timestamp_ms)


def parse_record(key: bytes | None, value: bytes | None) -> HeartbeatRecord | None:
    """None for what is no heartbeat of a version that we know."""
    try:
        aliases = Reader(memoryview(key or b""), flexible=False)
        source, target = aliases.string(), aliases.string()
        version, timestamp_ms = _VALUE.unpack(value or b"")
    except (ProtocolError, struct.error):
        return None
    if version != VERSION or source is None or target is None:
        return None
    return HeartbeatRecord(source, target, timestamp_ms)


class HeartbeatTopic:
    """One flow's heartbeats, appended one by one. The topic must be there: it is never made by asking for it."""

    def __init__(self, cluster: Cluster, topic: str, source: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._source = source
        self._info: TopicInfo | None = None

    def emit(self, timestamp_ms: int) -> None:
        """Append a heartbeat; whatever goes wrong, the next one asks who leads first."""
        info = self._info or self._find()
        self._info = None
        append_batch(self._cluster, info, 0, self._encode(timestamp_ms))
        self._info = info

    def _find(self) -> TopicInfo:
        info = self._cluster.fetch_metadata([self._topic]).topics.get(self._topic)
        if info:
            raise_hidden(self._cluster.address, self._topic, info.error, "WRITE")
        if info is None or info.error or 0 not in info.leaders or info.leaders[0].node < 0:
            raise ConnectionLostError(f"{self._cluster.address.alias}: {self._topic} is not there or has no leader")
        return info

    def _encode(self, timestamp_ms: int) -> bytes:
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=_BATCH_BYTES)
        key = encode_key(self._source, self._cluster.address.alias)
        builder.append(timestamp_ms, key, encode_value(timestamp_ms))
        builder.close()
        return bytes(builder.buffer())
