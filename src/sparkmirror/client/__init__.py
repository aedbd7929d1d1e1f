"""For applications: where a cluster's topics came from, and where a consumer group of another cluster goes on here.

In: a cluster that a mirror writes to, sparkmirror or MirrorMaker 2. Out: what Kafka's MirrorClient and
RemoteClusterUtils answer. It must never write to a cluster, and knows neither Spark nor the mirror's running parts.
"""

from __future__ import annotations

from sparkmirror.client.mirror_client import GroupOffsets, MirrorClient, OffsetAndMetadata
from sparkmirror.client.remote_cluster import (
    checkpoint_topics,
    heartbeat_topics,
    replication_hops,
    translate_offsets,
    upstream_clusters,
)
from sparkmirror.topology.partition import TopicPartition
from sparkmirror.topology.policy import ReplicationPolicy

__all__ = [
    "GroupOffsets",
    "MirrorClient",
    "OffsetAndMetadata",
    "ReplicationPolicy",
    "TopicPartition",
    "checkpoint_topics",
    "heartbeat_topics",
    "replication_hops",
    "translate_offsets",
    "upstream_clusters",
]
