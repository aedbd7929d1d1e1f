"""DeleteRecords: lets logs begin later, one request a leader."""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol.admin import DeleteRecordsRequest

from sparkmirror.net.cluster import Cluster, Leader, group_by

TIMEOUT_MS = 30_000

Partition = tuple[str, int]


def delete_records(
    cluster: Cluster, leaders: Mapping[Partition, Leader], before: Mapping[Partition, int]
) -> dict[Partition, int]:
    """Remove what stands before an offset in each partition; error codes by partition."""
    kind = DeleteRecordsRequest.DeleteRecordsTopic
    codes: dict[Partition, int] = {}
    for node, partitions in group_by([p for p in before if leaders[p].node >= 0], lambda p: leaders[p].node).items():
        topics = [
            kind(
                name=topic,
                partitions=[kind.DeleteRecordsPartition(partition_index=p[1], offset=before[p]) for p in group],
            )
            for topic, group in group_by(partitions, lambda p: p[0]).items()
        ]
        for answer in cluster.call(node, DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS)).topics:
            codes |= {(answer.name, p.partition_index): p.error_code for p in answer.partitions}
    return codes
