"""How to reach a cluster. Apart from `cluster`, so that a planner can read a lease without loading Kafka's schemas."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.client import Client
from sparkmirror.net.security import PLAINTEXT, Security

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """What is needed to reach a cluster, and as whom; travels from driver to executors."""

    alias: str
    bootstrap: tuple[str, ...]
    client: Client = field(default_factory=Client)


def to_fields(crossing: DataclassInstance) -> dict[str, Any]:
    """A dictionary for what crosses to executors: secrets are left out."""
    return asdict(crossing, dict_factory=lambda pairs: {name: value for name, value in pairs if name != "settings"})


def read_address(fields: Mapping[str, Any]) -> ClusterAddress:
    """Of a dictionary that `to_fields` made."""
    return ClusterAddress(
        alias=fields["alias"], bootstrap=tuple(fields["bootstrap"]), client=read_client(fields["client"])
    )


def read_client(fields: Mapping[str, Any]) -> Client:
    """Its secrets are with the driver."""
    security = Security(**fields.get("security", {}))
    return Client(**{**fields, "security": replace(security, is_sealed=security.protocol != PLAINTEXT)})


def parse_host_port(text: str) -> tuple[str, int]:
    """`host:port`, also `[v6]:port` and `PROTOCOL://host:port`."""
    host, _, port = text.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)


def bootstrap_places(address: ClusterAddress) -> list[tuple[str, int]]:
    """Where to begin. By canonical names, one entry may stand for many brokers (KIP-235)."""
    places = [parse_host_port(text) for text in address.bootstrap]
    if not address.client.canonical_names:
        return places
    return list(dict.fromkeys((name, port) for host, port in places for name in _canonical_names(host)))


def _canonical_names(host: str) -> list[str]:
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise ConnectionLostError(f"{host} can't be resolved: {error}") from error
    return sorted(_name_of(ip) for ip in found)


def _name_of(ip: str) -> str:
    """The address itself where it has no name."""
    try:
        return socket.gethostbyaddr(ip)[0]
    except OSError:
        return ip
