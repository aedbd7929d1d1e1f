"""Questions about the ends of logs: ListOffsets and DescribeProducers, one request a leader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from sparkmirror.errors import ProtocolError
from sparkmirror.net.cluster import Cluster, Leader, group_by
from sparkmirror.protocol import list_offsets as protocol
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED

LATEST, EARLIEST = protocol.LATEST, protocol.EARLIEST
NO_OFFSET = -1
MOST_OFFSETS = 1 << 62

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


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """Up to `end` a log is that of `epoch`, the newest one that it shares with who asked. -1: it can't say."""

    epoch: int
    end: int


def list_offsets(
    cluster: Cluster,
    leaders: Mapping[Partition, Leader],
    when: int,
    *,
    committed: bool = False,
    log_end: bool = False,
) -> dict[Partition, int]:
    """Offsets by partition; a partition whose leader answers with an error is left out.

    `committed` asks for the last stable offset in place of the high watermark, `log_end` for what
    the leader holds beyond it.
    """
    found: dict[Partition, int] = {}
    for node, group in _by_node(leaders).items():
        body = protocol.encode_list_offsets(
            {partition: leaders[partition].epoch for partition in group},
            when,
            replica=protocol.DEBUGGER if log_end else protocol.CONSUMER,
            isolation=READ_COMMITTED if committed else READ_UNCOMMITTED,
        )
        _, frame = cluster.call_raw(node, protocol.API_KEY, (protocol.VERSION,), lambda _, b=body: [b])  # type: ignore[misc]
        answers = protocol.parse_list_offsets(frame)
        found |= {p: _checked(p, offset, when) for p, (error, offset) in answers.items() if not error and p in leaders}
    return found


def _checked(partition: Partition, offset: int, when: int) -> int:
    """-1 says that no record is as new, and a log's ends are never that."""
    if (offset < 0 and (when < 0 or offset != NO_OFFSET)) or offset >= MOST_OFFSETS:
        raise ProtocolError(f"{partition[0]}-{partition[1]}: a broker says that its log begins or ends at {offset}")
    return offset


def describe_producer(
    cluster: Cluster,
    leaders: Mapping[Partition, Leader],
    producer_id: int,
    errors: dict[Partition, int] | None = None,
) -> dict[Partition, ProducerState | None]:
    """What each leader remembers of the producer (`None`: nothing); partitions with an error stand in `errors` instead.

    Brokers before 2.8 can't be asked (KIP-664): see `can_describe_producers`. Of theirs nothing is known.
    """
    found: dict[Partition, ProducerState | None] = {}
    for partition, producers in _describe(cluster, leaders, errors):
        ours = [s for s in producers if s.producer_id == producer_id]
        found[partition] = ProducerState(ours[0].last_sequence, ours[0].last_timestamp) if ours else None
    return found


def highest_marker_epoch(cluster: Cluster, leaders: Mapping[Partition, Leader], producer_ids: Collection[int]) -> int:
    """The highest coordinator epoch of markers that leaders remember of these producers, -1 for none."""
    states = (s for _, producers in _describe(cluster, leaders) for s in producers if s.producer_id in producer_ids)
    return max((int(s.coordinator_epoch) for s in states), default=-1)


def describe_open_transactions(
    cluster: Cluster, leaders: Mapping[Partition, Leader]
) -> dict[Partition, list[OpenTransaction]]:
    """The open transactions of each partition, the one that began first in front."""
    found: dict[Partition, list[OpenTransaction]] = {}
    for partition, producers in _describe(cluster, leaders):
        begun = sorted((s.current_txn_start_offset, s.producer_id) for s in producers)
        found[partition] = [OpenTransaction(producer_id, first) for first, producer_id in begun if first >= 0]
    return found


def fetch_epoch_ends(
    cluster: Cluster, leaders: Mapping[Partition, Leader], epochs: Mapping[Partition, int]
) -> dict[Partition, EpochEnd]:
    """Where the logs of leaders still are those of earlier epochs (KIP-320); errors are left out."""
    found: dict[Partition, EpochEnd] = {}
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    for node, group in _by_node({partition: leaders[partition] for partition in epochs}).items():
        topics = [
            of_topic(
                topic=name,
                partitions=[
                    of_topic.OffsetForLeaderPartition(
                        partition=key[1], current_leader_epoch=leaders[key].epoch, leader_epoch=epochs[key]
                    )
                    for key in keys
                ],
            )
            for name, keys in group_by(group, lambda item: item[0]).items()
        ]
        for answer in cluster.call(node, OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)).topics:
            for p in answer.partitions:
                if not p.error_code:
                    found[answer.topic, p.partition] = EpochEnd(p.leader_epoch, p.end_offset)
    return found


def _describe(
    cluster: Cluster, leaders: Mapping[Partition, Leader], errors: dict[Partition, int] | None = None
) -> Iterator[tuple[Partition, list[Any]]]:
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
                elif errors is not None:
                    errors[answer.name, p.partition_index] = p.error_code


def can_describe_producers(cluster: Cluster, node: int) -> bool:
    return cluster.supports(node, DescribeProducersRequest.API_KEY)


def _by_node(leaders: Mapping[Partition, Leader]) -> dict[int, list[Partition]]:
    led: Iterable[Partition] = (partition for partition, leader in leaders.items() if leader.node >= 0)
    return group_by(list(led), lambda partition: leaders[partition].node)
