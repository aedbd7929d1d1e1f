"""Responses about groups, as kafka-python writes them from Kafka's schemas."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka.protocol.consumer import OffsetCommitResponse, OffsetFetchResponse

from sparkmirror.protocol.committed import Partition
from sparkmirror.protocol.wire import encode_compact_string, encode_uvarint


class Answered(NamedTuple):
    """A partition in an OffsetFetch response."""

    offset: int
    leader_epoch: int
    metadata: str | None
    error: int


class AnsweredGroup(NamedTuple):
    error: int
    partitions: Mapping[Partition, Answered]


def offset_fetch_response(version: int, groups: Mapping[str, AnsweredGroup]) -> bytes:
    """In versions before 8 only the first group."""
    first = next(iter(groups.values()), AnsweredGroup(0, {}))
    of_group = OffsetFetchResponse.OffsetFetchResponseGroup
    response = OffsetFetchResponse(
        throttle_time_ms=3,
        topics=_topics(OffsetFetchResponse.OffsetFetchResponseTopic, "OffsetFetchResponsePartition", first),
        error_code=first.error,
        groups=[
            of_group(
                group_id=name,
                error_code=group.error,
                topics=_topics(of_group.OffsetFetchResponseTopics, "OffsetFetchResponsePartitions", group),
            )
            for name, group in groups.items()
        ],
    )
    return bytes(response.encode(version=version))


def _topics(of_topic: Any, of_partition: str, group: AnsweredGroup) -> list[Any]:
    kind = getattr(of_topic, of_partition)
    return [
        of_topic(
            name=name,
            partitions=[
                kind(
                    partition_index=partition,
                    committed_offset=answered.offset,
                    committed_leader_epoch=answered.leader_epoch,
                    metadata=answered.metadata,
                    error_code=answered.error,
                )
                for (topic, partition), answered in group.partitions.items()
                if topic == name
            ],
        )
        for name in dict.fromkeys(topic for topic, _ in group.partitions)
    ]


def offset_commit_response(version: int, errors: Mapping[Partition, int]) -> bytes:
    of_topic = OffsetCommitResponse.OffsetCommitResponseTopic
    kind = of_topic.OffsetCommitResponsePartition
    topics = [
        of_topic(
            name=name,
            partitions=[kind(partition_index=p, error_code=error) for (t, p), error in errors.items() if t == name],
        )
        for name in dict.fromkeys(topic for topic, _ in errors)
    ]
    return bytes(OffsetCommitResponse(throttle_time_ms=3, topics=topics).encode(version=version))


def consumer_group_describe_response(groups: Sequence[tuple[int, str, str, int]]) -> bytes:
    """Error, group, state, number of members. kafka-python has no such message: written by Kafka's schema."""
    text, none, no_tags = encode_compact_string, b"\0", b"\0"
    number = struct.Struct(">i").pack
    assigned = encode_uvarint(2) + bytes(16) + text("t") + encode_uvarint(3) + number(0) + number(1) + no_tags + no_tags
    member = text("m") + none + none + number(4) + text("c") + text("/h") + encode_uvarint(2) + text("t") + none
    member += assigned + assigned + no_tags
    out = number(0) + encode_uvarint(len(groups) + 1)
    for error, group, state, members in groups:
        out += struct.pack(">h", error) + (text("why") if error else none) + text(group) + text(state)
        out += number(4) + number(4) + text("uniform") + encode_uvarint(members + 1) + member * members
        out += number(-(2**31)) + no_tags
    return out + no_tags
