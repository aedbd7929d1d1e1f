"""What a Python worker keeps from task to task: connections to clusters, and what it has read of progress topics.

Spark reuses its workers. A micro-batch a second that connects anew each time would mostly connect.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage


@dataclass(frozen=True, slots=True)
class SinkTopics:
    """The internal topics of a sink, and the producer id that was claimed in them."""

    producer_id: int
    progress: ProgressTopic


_clusters: dict[ClusterAddress, Cluster] = {}
_progress: dict[tuple[ClusterAddress, Storage], ProgressTopic] = {}
_sinks: dict[tuple[ClusterAddress, str], SinkTopics] = {}


def shared_cluster(address: ClusterAddress) -> Cluster:
    if address not in _clusters:
        for former in [known for known in _clusters if _is_former(known, address)]:
            _clusters.pop(former).close()
        _clusters[address] = Cluster(address)
    return _clusters[address]


def _is_former(known: ClusterAddress, address: ClusterAddress) -> bool:
    """Whether it is the same client, before its certificates or passwords were replaced."""
    before, now = known.client.security, address.client.security
    return known.alias == address.alias and bool(now.owner) and before.owner == now.owner


def shared_progress(address: ClusterAddress, storage: Storage) -> ProgressTopic:
    key = (address, storage)
    if key not in _progress:
        _progress[key] = ProgressTopic(shared_cluster(address), storage)
    return _progress[key]


def sink_topics(address: ClusterAddress, name: str, replication_factor: int) -> SinkTopics:
    """Made at the first use. All workers claim; the first claim holds for all."""
    key = (address, name)
    if key not in _sinks:
        cluster = shared_cluster(address)
        storage = Storage.named(f"sink.{name}")  # apart from the topics of a flow whose source has the same name
        producer_id = Claims(cluster, storage, replication_factor).claim_producer_id()
        progress = ProgressTopic(cluster, storage, replication_factor)
        progress.ensure()
        _sinks[key] = SinkTopics(producer_id, progress)
    return _sinks[key]
