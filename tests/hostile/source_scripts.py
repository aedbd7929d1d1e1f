"""Lies of a source."""

from __future__ import annotations

import struct
import uuid
from typing import Any

from tests.hostile import lies
from tests.hostile.lies import (
    ATTRIBUTES,
    BASE,
    COUNT,
    LAST_DELTA,
    LENGTH,
    MAGIC,
    MOST_I32,
    MOST_I64,
    PRODUCER,
    batches,
    edited,
    fetched,
    field,
    offsets,
    records,
    setting,
)
from tests.hostile.proxy import API_VERSIONS, EPOCH_ENDS, FETCH, LIST_OFFSETS, METADATA, Close, Hang, Lie, framed
from tests.hostile.stage import SOURCE, Script

DAYS_MS = 20 * 86_400_000


def _script(name: str, lie: Any, api_key: int = FETCH, **more: Any) -> Script:
    return Script(name=name, side=SOURCE, lies={api_key: lie}, **more)


def _brokers(**fields: Any) -> Lie:
    def change(said: Any) -> None:
        for broker in said.brokers:
            setting(**fields)(broker)

    return edited(change)


def _topics(**fields: Any) -> Lie:
    def change(said: Any) -> None:
        for topic in said.topics:
            setting(**fields)(topic)

    return edited(change)


def _leaders(**fields: Any) -> Lie:
    def change(said: Any) -> None:
        for topic in said.topics:
            for partition in topic.partitions:
                setting(**fields)(partition)

    return edited(change)


def _elected(name: str, *, stops: str | None = None, **fields: Any) -> Script:
    """A new leader, and what it says of where the last one's records end."""

    def change(said: Any) -> None:
        for topic in said.topics:
            for partition in topic.partitions:
                setting(error_code=0, **fields)(partition)

    told = {METADATA: _leaders(leader_epoch=5), EPOCH_ENDS: edited(change)}
    return Script(name=name, side=SOURCE, lies=told, stops=stops, begun=True)


def _add_topic_twice(said: Any) -> None:
    said.responses += said.responses


def _add_partitions_twice(said: Any) -> None:
    for topic in said.responses:
        topic.partitions += topic.partitions


def _other_partitions(said: Any) -> None:
    for topic in said.responses:
        for partition in topic.partitions:
            partition.partition_index += 4711


def _other_topic(said: Any) -> None:
    for topic in said.responses:
        topic.topic, topic.topic_id = "nobody-asked", uuid.uuid4()


def _new_ids(said: Any) -> None:
    for topic in said.topics:
        topic.topic_id = uuid.uuid4()


def _versions(change: Any) -> Lie:
    return edited(change)


def _absurd_versions(said: Any) -> None:
    for key in said.api_keys:
        key.min_version, key.max_version = -32768, 32767


def _upside_down(said: Any) -> None:
    for key in said.api_keys:
        key.min_version, key.max_version = 32767, -32768


def _doubled_versions(said: Any) -> None:
    said.api_keys += [type(k)(api_key=k.api_key, min_version=0, max_version=0) for k in said.api_keys]


def _no_versions(said: Any) -> None:
    said.api_keys = []


def _aborted(pairs: list[tuple[int, int]]) -> Lie:
    def change(partition: Any) -> None:
        made = type(partition).AbortedTransaction
        partition.aborted_transactions = [made(producer_id=pid, first_offset=first) for pid, first in pairs]

    return fetched(change)


def _as_many_as_can_be(batch: bytearray) -> None:
    field(COUNT, MOST_I32)(batch)
    field(LAST_DELTA, MOST_I32 - 1)(batch)


def _behind(data: bytes) -> bytes:
    """Again and again what was read before."""
    first = bytearray(lies.split(data)[0])
    field(BASE, 0)(first)
    field(LAST_DELTA, 0)(first)
    field(COUNT, 1)(first)
    return lies.sealed_batch(first)


def _garbage_markers(data: bytes) -> bytes:
    out = []
    for batch in lies.split(data):
        new = bytearray(batch[:61]) + b"\xff" * 40
        field(LENGTH, len(new) - 12)(new)
        field(ATTRIBUTES, 0x30)(new)
        field(PRODUCER, 77)(new)
        out.append(lies.sealed_batch(new))
    return b"".join(out)


_HUGE_COMPACT = b"\xff\xff\xff\xff\x7f"
_ENDLESS = b"\xff" * 64

SOURCE_SCRIPTS = [
    # -- frames
    _script("a frame of negative size", lies.said_size(-5)),
    _script("a frame of no size", lies.said_size(0)),
    _script("a frame too small for its id", lies.said_size(3)),
    _script("a frame of 2 GB", lies.said_size(MOST_I32)),
    _script("a frame that says 200 MB and stays short", lies.said_size(200 << 20)),
    _script("a frame shorter than it is", lies.said_size(20)),
    _script("another correlation id", lies.other_correlation),
    _script("each answer twice", lies.twice),
    _script("half an answer, then the end", lies.half_then(Close())),
    _script("half an answer, then silence", lies.half_then(Hang())),
    _script("silence", lies.nothing),
    _script("the end instead of an answer", lies.hang_up),
    _script("a byte every 50 ms", lies.dripped(0.05)),
    _script("something unasked before the answer", lies.late(framed(b"\0\0\0\7hello"))),
    _script("an empty answer", lies.body_instead(b"")),
    _script("garbage as an answer", lies.body_instead(_ENDLESS)),
    _script("unasked bytes at connect", lies.from_number(0, lambda a: [a.frame]), upon_connect=b"\0\0\0\4\0\0\0\1"),
    _script(
        "an HTTP server at connect",
        lies.from_number(0, lambda a: [a.frame]),
        upon_connect=b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ),
    # -- versions
    _script("absurd ranges of versions", _versions(_absurd_versions), API_VERSIONS, copies=True),
    _script("ranges of versions upside down", _versions(_upside_down), API_VERSIONS),
    _script("each version twice", _versions(_doubled_versions), API_VERSIONS),
    _script("no versions", _versions(_no_versions), API_VERSIONS),
    _script("versions refused", _versions(setting(error_code=35)), API_VERSIONS),
    _script("versions refused for an unknown reason", _versions(setting(error_code=32767)), API_VERSIONS),
    _script("2^31 versions", lies.body_instead(b"\0\0" + _HUGE_COMPACT + b"\0" * 20), API_VERSIONS),
    # -- metadata
    _script("no brokers", edited(setting(brokers=[])), METADATA),
    _script("a host name of 30,000 letters", _brokers(host="h" * 30_000), METADATA),
    _script("an empty host name", _brokers(host=""), METADATA),
    _script("a host name with empty labels", _brokers(host="a..b"), METADATA),
    _script("a host name with a null byte", _brokers(host="a\0b"), METADATA),
    _script("a port beyond 65,535", _brokers(port=65_536 + 9), METADATA),
    _script("a negative port", _brokers(port=-1), METADATA),
    _script("negative nodes", _brokers(node_id=-7), METADATA),
    _script("a leader that does not exist", _leaders(leader_id=4711), METADATA),
    _script("a leader of epoch 2^31", _leaders(leader_epoch=MOST_I32), METADATA),
    _script("topic ids that change", edited(_new_ids), METADATA, stops="source-recreated", heals=False),
    _script(
        "an unknown error of each topic",
        _topics(error_code=999),
        METADATA,
    ),
    _script("2^31 brokers", lies.body_instead(b"\0\0\0\0" + _HUGE_COMPACT), METADATA),
    _script("2^31 topics in some nesting", lies.of_body(lambda body: body[:-40] + _HUGE_COMPACT), METADATA),
    # -- fetch
    _script("an unknown error of the fetch", edited(setting(error_code=12345))),
    _script("a lost session, always", edited(setting(error_code=70))),
    _script("another session each time", lambda a: edited(setting(session_id=a.number * 7 + 1))(a)),
    _script("a throttle of days", edited(setting(throttle_time_ms=DAYS_MS)), copies=True),
    _script("a negative throttle", edited(setting(throttle_time_ms=-DAYS_MS)), copies=True),
    _script("an unknown error of each partition", fetched(setting(error_code=-77)), stops="refused"),
    _script("out of range, always", fetched(setting(error_code=1))),
    _script("empty answers at once", fetched(setting(records=None))),
    _script(
        "absurd watermarks",
        fetched(setting(high_watermark=-MOST_I64, last_stable_offset=MOST_I64, log_start_offset=-5)),
    ),
    _script("a topic that nobody asked for", edited(_other_topic)),
    _script("partitions that nobody asked for", edited(_other_partitions)),
    _script("partitions twice in an answer", edited(_add_partitions_twice)),
    _script("topics twice in an answer", edited(_add_topic_twice)),
    _script("a preferred replica that does not exist", fetched(setting(preferred_read_replica=4711))),
    _script(
        "diverging, always",
        fetched(lambda p: setattr(p, "diverging_epoch", type(p).EpochEndOffset(epoch=3, end_offset=MOST_I64))),
    ),
    _script(
        "aborted transactions without sense", _aborted([(-1, -MOST_I64), (5555, 0), (MOST_I64, MOST_I64)]), copies=True
    ),
    _script("300 aborted transactions", _aborted([(n, 0) for n in range(5_000, 5_300)]), copies=True),
    # -- records
    _script("a wrong CRC", batches(field(lies.CRC, 4711), sealed=False), stops="corrupt"),
    _script("a negative batch length", records(lambda d: d[:8] + struct.pack(">i", -3) + d[12:]), stops="corrupt"),
    _script("a batch length of 2^31", records(lambda d: d[:8] + struct.pack(">i", MOST_I32) + d[12:])),
    _script("a batch length of nothing", records(lambda d: d[:8] + b"\0\0\0\0" + d[12:]), stops="corrupt"),
    _script("an unknown format", batches(field(MAGIC, 5), sealed=False), stops="corrupt"),
    _script("format 1 that is not", batches(field(MAGIC, 1), sealed=False), stops="corrupt"),
    _script("more records than there are", batches(field(COUNT, lambda n: n + 1)), stops="corrupt"),
    _script("2^31 records", batches(field(COUNT, MOST_I32)), stops="corrupt"),
    _script("a negative number of records", batches(field(COUNT, -1)), stops="corrupt"),
    _script(
        "2^31 records and offsets",
        batches(_as_many_as_can_be),
        stops="corrupt",
    ),
    _script("a negative last offset", batches(field(LAST_DELTA, -2)), stops="corrupt"),
    _script("fewer offsets than records", batches(field(LAST_DELTA, 0)), stops="corrupt"),
    _script("a negative base offset", batches(field(BASE, -9), sealed=False), stops="corrupt"),
    _script("a base offset of 2^63", batches(field(BASE, MOST_I64), sealed=False), stops="corrupt"),
    _script("a base offset of 2^62", batches(field(BASE, 1 << 62), sealed=False), stops="corrupt"),
    _script("base offsets far ahead", batches(field(BASE, lambda n: n + 10**9), sealed=False), stops="corrupt"),
    _script("base offsets somewhat ahead", batches(field(BASE, lambda n: n + 100_000), sealed=False), stops="corrupt"),
    _script("batches behind the fetch offset", lies.from_number(1, records(_behind))),
    _script("batches in the wrong order", records(lambda d: b"".join(reversed(lies.split(d)))), stops="corrupt"),
    _script("an unknown codec", batches(field(ATTRIBUTES, 7)), stops="refused"),
    _script("markers of garbage", records(_garbage_markers), stops="corrupt"),
    # -- offsets and epochs
    _script("an earliest offset of 2^63", offsets(setting(offset=MOST_I64)), LIST_OFFSETS, stops="corrupt"),
    _script("negative offsets", offsets(setting(offset=-9)), LIST_OFFSETS, stops="corrupt"),
    _script("an unknown error of each offset", offsets(setting(error_code=4711)), LIST_OFFSETS),
    _script("offsets of nobody", edited(setting(topics=[])), LIST_OFFSETS),
    _elected("epochs end at 2^63", end_offset=MOST_I64),
    _elected("epochs end before they begin", end_offset=-5, leader_epoch=-9),
    _elected("epochs end at once", stops="source-truncated", end_offset=3),
]
