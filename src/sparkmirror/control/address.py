"""How a flow reaches its clusters: as the source's consumer, as the target's producer, as an admin of either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparkmirror.config.model import ClusterConfig, FlowConfig
from sparkmirror.config.parts import ConnectionConfig
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.principal import ANONYMOUS, NOT_KNOWN, principal_of
from sparkmirror.net.security import Security

CANONICAL = "resolve_canonical_bootstrap_servers_only"
SHORTEST_WAIT_S = 1.5  # also far away


def flow_address(cluster: ClusterConfig, flow: FlowConfig) -> ClusterAddress:
    """For the driver's own work: as an admin."""
    if cluster == flow.source:
        return _address(cluster, flow, flow.source_admin, "source_admin")
    return _address(cluster, flow, flow.target_admin, "target_admin")


def lead_address(flow: FlowConfig) -> ClusterAddress:
    """For who keeps the lead: while leases last it asks another broker rather than wait for one that hangs."""
    address = flow_address(flow.target, flow)
    longest_s = max(SHORTEST_WAIT_S, flow.lease_s / 4)
    wanted_s = address.client.request_timeout_s or longest_s
    return replace(address, client=replace(address.client, request_timeout_s=min(wanted_s, longest_s)))


def reader_address(flow: FlowConfig) -> ClusterAddress:
    """For who reads records of the source."""
    return _address(flow.source, flow, flow.consumer.connection, "source_consumer")


def writer_address(flow: FlowConfig) -> ClusterAddress:
    """For who writes into the target."""
    return _address(flow.target, flow, flow.producer.connection, "target_producer")


def all_securities(flow: FlowConfig) -> tuple[Security, ...]:
    """Of each of its clients; those that need none are left out."""
    addresses = (
        reader_address(flow),
        writer_address(flow),
        flow_address(flow.source, flow),
        flow_address(flow.target, flow),
    )
    return tuple(each.client.security for each in addresses if each.client.security.owner)


def own_principals(flow: FlowConfig) -> frozenset[str]:
    """Who the flow is to its source, as reader and as admin; not where all are nobody, or only the brokers know it."""
    clients = (reader_address(flow), flow_address(flow.source, flow))
    return frozenset(principal_of(each.client.security) for each in clients) - {ANONYMOUS, NOT_KNOWN}


def check_stores(flow: FlowConfig) -> None:
    """ConfigError where a store can't be read, a setting of TLS is wrong or Kerberos is not there, before a run."""
    for security in all_securities(flow):
        if security.has_tls:
            from sparkmirror.net.tls.context import context_of  # noqa: PLC0415 - only who needs it loads it

            context_of(security)
        if security.has_sasl:
            from sparkmirror.net.sasl.authentication import require_login  # noqa: PLC0415

            require_login(security)


def _address(cluster: ClusterConfig, flow: FlowConfig, connection: ConnectionConfig, role: str) -> ClusterAddress:
    """`role`: a field of the flow's security."""
    client = build_client(connection, f"{flow.name}|sparkmirror")
    settings: Mapping[str, str] = getattr(flow.security, role)
    client = replace(client, security=Security.of(settings, f"{flow.name} {role.replace('_', ' ')}"))
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
