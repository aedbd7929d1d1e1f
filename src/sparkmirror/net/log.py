"""Reads and writes single places of a log with blocking requests, for the control plane.

The copy uses it to look at the tail of a partition; the internal topics are read and written with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

from sparkmirror.batch.header import BatchHeader, split_batches
from sparkmirror.errors import ConnectionLostError, ProtocolError
from sparkmirror.net.cluster import NO_TOPIC_ID, Cluster, TopicInfo, group_by
from sparkmirror.net.denial import raise_refused
from sparkmirror.net.response import only_answer
from sparkmirror.protocol import codes, fetch, produce
from sparkmirror.topology.right import TOPIC, Right

TAIL_BYTES = 1 << 20
READ_BYTES = 16 << 20


def fetch_partition(
    cluster: Cluster,
    topic: TopicInfo,
    partition: int,
    offset: int,
    *,
    max_bytes: int = TAIL_BYTES,
    max_wait_ms: int = 0,
    isolation: int = fetch.READ_UNCOMMITTED,
) -> fetch.FetchedPartition:
    """What the leader has from `offset` on, at least one whole batch if there is one (KIP-74)."""
    node = topic.leaders[partition].node
    wanted = {partition: offset}
    return _fetch(cluster, topic, node, wanted, max_bytes=max_bytes, max_wait_ms=max_wait_ms, isolation=isolation)[0]


def _fetch(
    cluster: Cluster,
    topic: TopicInfo,
    node: int,
    offsets: Mapping[int, int],
    *,
    max_bytes: int,
    max_wait_ms: int = 0,
    isolation: int = fetch.READ_UNCOMMITTED,
) -> list[fetch.FetchedPartition]:
    """What a node has of these partitions, `max_bytes` in all: of the first, if it has any, and of others."""

    def body(version: int) -> bytes:
        key = topic.topic_id if version == fetch.BY_ID else topic.name
        wanted = [fetch.FetchPartition(p, topic.leaders[p].epoch, offset, max_bytes) for p, offset in offsets.items()]
        return fetch.encode_fetch(
            version, {key: wanted}, max_wait_ms=max_wait_ms, max_bytes=max_bytes, isolation=isolation
        )

    version, frame = cluster.call_raw(
        node, fetch.API_KEY, pick_dialect(topic, fetch.BY_ID, fetch.BY_NAME), lambda v: [body(v)]
    )
    answer = fetch.parse_fetch(version, frame)
    codes.raise_for(answer.error, topic.name)
    if not answer.partitions:
        raise ConnectionLostError(f"{topic.name}: the leader answered nothing for partitions {list(offsets)}")
    found = sorted(fetched.partition for fetched in answer.partitions)
    if found != sorted(offsets) or any(f.topic not in (topic.name, topic.topic_id) for f in answer.partitions):
        raise ProtocolError(f"{topic.name}: partitions {list(offsets)} were asked for, and the leader answered others")
    return answer.partitions


def raise_unread(cluster: Cluster, topic: TopicInfo, partition: int, code: int) -> None:
    """If the answer to a fetch is an error."""
    what = f"{topic.name}-{partition} can't be read"
    raise_refused(cluster.address, what, code, Right("READ", TOPIC, topic.name))


def fetch_batch_at(
    cluster: Cluster, topic: TopicInfo, partition: int, offset: int
) -> tuple[BatchHeader, memoryview] | None:
    """The batch that holds `offset`; None if the log has no such offset any more or yet."""
    fetched = fetch_partition(cluster, topic, partition, offset, max_bytes=1)
    if fetched.error == codes.OFFSET_OUT_OF_RANGE:
        return None
    raise_unread(cluster, topic, partition, fetched.error)
    for header, batch in split_batches(fetched.records):
        if header.end > offset:
            return header, batch
    return None


def append_batch(cluster: Cluster, topic: TopicInfo, partition: int, batch: bytes, timeout_ms: int = 15000) -> int:
    """Append one batch with acks=all and return its first offset. For internal topics only."""
    leader = topic.leaders[partition]

    def body(version: int) -> list[produce.Buffer]:
        key = topic.topic_id if version == produce.BY_ID else topic.name
        return produce.encode_produce(version, {key: [(partition, batch)]}, timeout_ms=timeout_ms)

    version, frame = cluster.call_raw(
        leader.node, produce.API_KEY, pick_dialect(topic, produce.BY_ID, produce.BY_NAME), body
    )
    answer = only_answer(produce.parse_produce(version, frame)[1], f"append to {topic.name}-{partition}")
    what, right = f"{topic.name}-{partition} can't be written", Right("WRITE", TOPIC, topic.name)
    raise_refused(cluster.address, what, answer.error, right)
    return answer.base_offset


def read_log(
    cluster: Cluster, topic: TopicInfo, partition: int, offset: int, end: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """All batches from `offset` up to `end`, or as far as consumers may read."""
    spans = {partition: (offset, end)}
    for _, header, batch in read_logs(cluster, topic, spans, max_bytes=TAIL_BYTES, whole=False):
        yield header, batch


def read_logs(
    cluster: Cluster,
    topic: TopicInfo,
    spans: Mapping[int, tuple[int, int]],
    *,
    max_bytes: int = READ_BYTES,
    whole: bool = True,
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """All batches of several partitions in their spans, with the partition; those of each in order.

    `whole`: consumers may read each up to its end, so a leader that says otherwise was just elected: an error.
    """
    for node, group in group_by(sorted(spans), lambda p: topic.leaders[p].node).items():
        left = {p: spans[p][0] for p in group if spans[p][0] < spans[p][1]}
        while left:
            sure = next(iter(left))
            for fetched in _fetch(cluster, topic, node, left, max_bytes=max_bytes):
                partition, end = fetched.partition, spans[fetched.partition][1]
                raise_unread(cluster, topic, partition, fetched.error)
                offset = left[partition]
                for header, batch in split_batches(fetched.records):
                    offset = max(offset, header.end)
                    yield partition, header, batch
                is_over = offset >= end or (partition == sure and offset == left[partition])
                if is_over and offset < end and whole and fetched.high_watermark < end:
                    raise ConnectionLostError(
                        f"{topic.name}-{partition}: its leader does not show offset {end - 1} yet"
                    )
                if is_over:  # also where compaction left nothing up to the end
                    del left[partition]
                else:
                    left[partition] = offset


def pick_dialect(topic: TopicInfo, by_id: int, by_name: int) -> tuple[int, int]:
    """Versions in the order to try: by id only where the topic has one."""
    return (by_id, by_name) if topic.topic_id != NO_TOPIC_ID else (by_name, by_name)


def format_topic_id(topic_id: bytes) -> str:
    """Empty for brokers that have no topic ids."""
    return "" if topic_id == NO_TOPIC_ID else str(uuid.UUID(bytes=topic_id))
