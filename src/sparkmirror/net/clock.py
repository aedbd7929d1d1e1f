"""A cluster's clock, read without writing: in KRaft the leading controller stamps its own entry (KIP-836)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kafka.protocol.admin import DescribeQuorumRequest

from sparkmirror.errors import ProtocolError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.deadline import deadline
from sparkmirror.net.denial import raise_refused
from sparkmirror.net.response import only_answer
from sparkmirror.protocol import codes
from sparkmirror.topology.right import CLUSTER, Right

API_KEY = int(DescribeQuorumRequest.API_KEY)
WITH_TIMES = 1  # the first version that tells times, of Kafka 3.3
_TIMEOUT_S = 5.0
_QUORUM = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class ClockReading:
    """How far the clock of `controller` is ahead of this machine's; `within_s`: half the time that the answer took."""

    controller: int
    ahead_s: float
    within_s: float


def read_clock(cluster: Cluster) -> ClockReading:
    """BrokerError where the cluster has no such quorum, or the user may not DESCRIBE it."""
    topic = DescribeQuorumRequest.TopicData
    wanted = topic(topic_name=_QUORUM, partitions=[topic.PartitionData(partition_index=0)])
    before = time.time()
    with deadline(_TIMEOUT_S, "a quick look"):
        answer = cluster.call_any(DescribeQuorumRequest(topics=[wanted]))
    after = time.time()
    what = f"cluster {cluster.address.alias}: the controllers' quorum can't be described"
    raise_refused(cluster.address, what, answer.error_code, Right("DESCRIBE", CLUSTER))
    quorum = only_answer(only_answer(answer.topics, what).partitions, what)
    codes.raise_for(quorum.error_code, what)
    stamps = [v.last_fetch_timestamp for v in quorum.current_voters if v.replica_id == quorum.leader_id]
    if len(stamps) != 1 or stamps[0] < 0:
        raise ProtocolError(f"{what}: its leader has no time")
    return ClockReading(quorum.leader_id, stamps[0] / 1000 - (before + after) / 2, (after - before) / 2)
