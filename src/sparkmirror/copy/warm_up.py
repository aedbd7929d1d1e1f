"""What a lease does while its turn has not come: the first request of each kind, and each connection, takes longer."""

from __future__ import annotations

from collections.abc import Collection

from sparkmirror.copy.lease import Lease
from sparkmirror.copy.scout import Connections
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, describe_producer, list_offsets

Place = tuple[str, int]


def connect_early(lease: Lease, source: Cluster, target: Cluster) -> Connections:
    """Connect to the leaders, and ask once what will be asked then. Nothing of the answers is kept."""
    sources = _leaders(source, {p.topic for p in lease.partitions})
    targets = _leaders(target, {p.remote for p in lease.partitions})
    mine = {(p.remote, p.target_partition) for p in lease.partitions}
    leaders = {place: leader for place, leader in targets.items() if place in mine}
    describe_producer(target, leaders, lease.producer_id)
    list_offsets(target, leaders, LATEST, log_end=True)
    places = ((p.topic, p.partition) for p in lease.partitions)
    here = {sources[place].node for place in places if place in sources}
    there = {leader.node for leader in leaders.values()}
    return Connections(
        {node: source.connect(node) for node in here if node >= 0},
        {node: target.connect(node) for node in there if node >= 0},
    )


def _leaders(cluster: Cluster, topics: Collection[str]) -> dict[Place, Leader]:
    found = cluster.fetch_metadata(sorted(topics)).topics
    return {(name, p): leader for name, info in found.items() for p, leader in info.leaders.items()}
