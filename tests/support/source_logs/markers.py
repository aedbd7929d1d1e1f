"""Transaction markers that belong to no transaction: they take an offset each and no reader sees them."""

from __future__ import annotations

from kafka.protocol.producer import WriteTxnMarkersRequest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from tests.support.kafka_client import await_condition

PRODUCER_ID = 1 << 40  # no coordinator gives such a high one


def write_markers(servers: str, topic: str, count: int, partition: int = 0) -> None:
    marker = WriteTxnMarkersRequest.WritableTxnMarker
    places = [marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])]
    one = marker(
        producer_id=PRODUCER_ID,
        producer_epoch=0,
        transaction_result=False,
        topics=places,
        coordinator_epoch=0,
        transaction_version=0,
    )
    with Cluster(ClusterAddress(alias="markers", bootstrap=tuple(servers.split(",")))) as cluster:
        leader = cluster.fetch_metadata([topic]).topics[topic].leaders[partition]
        await_condition(lambda: bool(list_offsets(cluster, {(topic, partition): leader}, LATEST)), "the leader's log")
        answer = cluster.call(leader.node, WriteTxnMarkersRequest(markers=[one] * count))
    errors = {p.error_code for m in answer.markers for t in m.topics for p in t.partitions}
    assert errors == {0}, answer
