"""Broker quotas, to make a copy slow enough to be hit in the middle."""

from __future__ import annotations

from kafka.protocol.admin import AlterClientQuotasRequest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster


def limit_client(servers: str, client_id: str, key: str, bytes_per_second: float | None) -> None:
    """Set (None: remove) `consumer_byte_rate` or `producer_byte_rate` of a client id."""
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="client-id", entity_name=client_id)],
                ops=[entry.OpData(key=key, value=bytes_per_second or 0.0, remove=bytes_per_second is None)],
            )
        ],
        validate_only=False,
    )
    with Cluster(ClusterAddress(alias="quota", bootstrap=tuple(servers.split(",")))) as cluster:
        answer = cluster.call_controller(request)
        assert all(e.error_code == 0 for e in answer.entries), answer
