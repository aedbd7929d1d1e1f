"""What librdkafka's admin client can't ask for: reassignments, and which controller leads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import ElectionType, TopicPartition
from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.clock import read_clock
from sparkmirror.net.cluster import Cluster
from tests.chaos.side import Place, Side

DEADLINE_S = 30.0


def _cluster(side: Side) -> Cluster:
    return Cluster(ClusterAddress(alias=side.name, bootstrap=tuple(side.servers.split(","))))


def active_controller(side: Side) -> int:
    with _cluster(side) as cluster:
        return read_clock(cluster).controller


def reassign(side: Side, replicas: Mapping[Place, Sequence[int]]) -> None:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    wanted = [
        topic(
            name=name,
            partitions=[
                topic.ReassignablePartition(partition_index=partition, replicas=list(ids))
                for (other, partition), ids in replicas.items()
                if other == name
            ],
        )
        for name in sorted({name for name, _ in replicas})
    ]
    with _cluster(side) as cluster:
        answer = cluster.call_controller(AlterPartitionReassignmentsRequest(timeout_ms=10_000, topics=wanted))
    assert not answer.error_code, answer
    assert not any(p.error_code for t in answer.responses for p in t.partitions), answer


def elect_preferred(side: Side, places: Collection[Place]) -> None:
    wanted = [TopicPartition(*place) for place in places]
    side.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(DEADLINE_S)
