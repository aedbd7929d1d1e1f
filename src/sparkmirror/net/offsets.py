"""Questions about the ends of logs: ListOffsets and DescribeProducers, one request a leader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.consumer import ListOffsetsRequest

from sparkmirror.net.cluster import Cluster, Leader, group_by
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED

LATEST = -1
EARLIEST = -2
# A debugging replica sees the leader's log end; a consumer only the high watermark.
_CONSUMER = -1
_DEBUGGER = -2

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ProducerState:
    """What a leader remembers of one producer. `last_sequence` -1: it wrote only markers."""

    last_sequence: int
    last_timestamp: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is neither committed nor aborted yet, and where it begins."""

    producer_id: int
    first: int


def list_offsets(
    cluster: Cluster,
    leaders: Mapping[Partition, Leader],
    when: int,
    *,
    committed: bool = False,
    log_end: bool = False,
) -> dict[Partition, int | int]:
    """Offsets by partition; a partition whose leader answers with an error is left out.

    `committed` asks for the last stable offset in place of the high watermark, `log_end` for what
    the leader holds beyond it.
    """
    found: dict[Partition, int] = {}
    for node, group in _by_node(leaders).items():
        topics = [
            ListOffsetsRequest.ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                        partition_index=p, current_leader_epoch=leaders[topic, p].epoch, timestamp=when
                    )
                    for _, p in partitions
                ],
            )
            for topic, partitions in group_by(group, lambda item: item[0]).items()
        ]
        request = ListOffsetsRequest(
            replica_id=_DEBUGGER if log_end else _CONSUMER,
            isolation_level=READ_COMMITTED if committed else READ_UNCOMMITTED,
            topics=topics,
        )
        for answer in cluster.call(node, request).topics:
            found |= {(answer.name, p.partition_index): p.offset for p in answer.partitions if not p.error_code}
    return found


def describe_producer(
    cluster: Cluster, leaders: Mapping[Partition, Leader], producer_id: int
) -> dict[Partition, ProducerState | None]:
    """What each leader remembers of the producer (`None`: nothing); partitions with an error are left out.

    Brokers before 2.8 can't be asked (KIP-664): see `can_describe_producers`. Of theirs nothing is known.
    """
    found: dict[Partition, ProducerState | None] = {}
    for partition, producers in _describe(cluster, leaders):
        ours = [s for s in producers if s.producer_id == producer_id]
        found[partition] = ProducerState(ours[0].last_sequence, ours[0].last_timestamp) if ours else None
    return found


def describe_open_transactions(
    cluster: Cluster, leaders: Mapping[Partition, Leader]
) -> dict[Partition, list[OpenTransaction]]:
    """The open transactions of each partition, the one that began first in front."""
    found: dict[Partition, list[OpenTransaction]] = {}
    for partition, producers in _describe(cluster, leaders):
        begun = sorted((s.current_txn_start_offset, s.producer_id) for s in producers)
        found[partition] = [OpenTransaction(producer_id, first) for first, producer_id in begun if first >= 0]
    return found


def _describe(cluster: Cluster, leaders: Mapping[Partition, Leader]) -> Iterator[tuple[Partition, list[Any]]]:
    """What the leaders remember of each partition's producers; of old brokers nothing."""
    for node, group in _by_node(leaders).items():
        if not can_describe_producers(cluster, node):
            yield from ((partition, []) for partition in group)
            continue
        topics = [
            DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[p for _, p in partitions])
            for topic, partitions in group_by(group, lambda item: item[0]).items()
        ]
        for answer in cluster.call(node, DescribeProducersRequest(topics=topics)).topics:
            for p in answer.partitions:
                if not p.error_code:
                    yield (answer.name, p.partition_index), p.active_producers


def can_describe_producers(cluster: Cluster, node: int) -> bool:
    return cluster.supports(node, DescribeProducersRequest.API_KEY)


def _by_node(leaders: Mapping[Partition, Leader]) -> dict[int, list[Partition]]:
    led: Iterable[Partition] = (partition for partition, leader in leaders.items() if leader.node >= 0)
    return group_by(list(led), lambda partition: leaders[partition].node)
