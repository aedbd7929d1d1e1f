"""How a flow reaches its clusters: as the source's consumer, as the target's producer, as an admin of either."""

from __future__ import annotations

from sparkmirror.config.model import ClusterConfig, FlowConfig
from sparkmirror.config.parts import ConnectionConfig
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client

CANONICAL = "resolve_canonical_bootstrap_servers_only"


def flow_address(cluster: ClusterConfig, flow: FlowConfig) -> ClusterAddress:
    """For the driver's own work: as an admin."""
    return _address(cluster, flow, flow.source_admin if cluster == flow.source else flow.target_admin)


def reader_address(flow: FlowConfig) -> ClusterAddress:
    """For who reads records of the source."""
    return _address(flow.source, flow, flow.consumer.connection)


def writer_address(flow: FlowConfig) -> ClusterAddress:
    """For who writes into the target."""
    return _address(flow.target, flow, flow.producer.connection)


def _address(cluster: ClusterConfig, flow: FlowConfig, connection: ConnectionConfig) -> ClusterAddress:
    client = build_client(connection, f"{flow.name}|sparkmirror")
    return ClusterAddress(alias=cluster.alias, bootstrap=cluster.bootstrap_servers, client=client)


def build_client(connection: ConnectionConfig, own_id: str) -> Client:
    """`own_id`: the client id where the file gives none."""
    return Client(
        client_id=connection.client_id or own_id,
        canonical_names=connection.client_dns_lookup == CANONICAL,
        setup_timeout_s=_seconds(connection.socket_connection_setup_timeout_ms),
        setup_timeout_max_s=_seconds(connection.socket_connection_setup_timeout_max_ms),
        request_timeout_s=_seconds(connection.request_timeout_ms),
        api_timeout_s=_seconds(connection.default_api_timeout_ms),
        idle_s=_seconds(connection.connections_max_idle_ms),
        metadata_age_s=_seconds(connection.metadata_max_age_ms),
        receive_buffer_bytes=connection.receive_buffer_bytes,
        send_buffer_bytes=connection.send_buffer_bytes,
        reconnect_s=_seconds(connection.reconnect_backoff_ms),
        reconnect_max_s=_seconds(connection.reconnect_backoff_max_ms),
        retry_s=_seconds(connection.retry_backoff_ms),
        retry_max_s=_seconds(connection.retry_backoff_max_ms),
    )


def _seconds(milliseconds: int | None) -> float | None:
    """None where the file says nothing, or -1 for never."""
    return None if milliseconds is None or milliseconds < 0 else milliseconds / 1000
