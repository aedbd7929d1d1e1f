"""How to reach a cluster. Apart from `cluster`, so that a planner can read a lease without loading Kafka's schemas."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.client import Client
from sparkmirror.net.security import PLAINTEXT, Security

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NAME = re.compile(r"[\w.:%-]+")  # also an address with its zone
_LONGEST_NAME = 253
_LAST_PORT = 65_535


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


def check_place(host: str, port: int) -> None:
    """Brokers say names and ports, so they may be anything: what nobody can be asked for is a ConnectionLostError."""
    if not 0 < port <= _LAST_PORT:
        raise ConnectionLostError(f"{host[:_LONGEST_NAME]!r}, port {port}, can't be reached: there is no such port")
    try:
        is_name = (
            len(host) <= _LONGEST_NAME and bool(_NAME.fullmatch(host)) and len(host.encode("idna")) <= _LONGEST_NAME
        )
    except UnicodeError:
        is_name = False
    if not is_name:
        said = "it is no name of a broker: see to advertised.listeners"
        raise ConnectionLostError(f"{host[:_LONGEST_NAME]!r} can't be reached: {said}")


def bootstrap_places(address: ClusterAddress) -> list[tuple[str, int]]:
    """Where to begin. By canonical names, one entry may stand for many brokers (KIP-235)."""
    places = [parse_host_port(text) for text in address.bootstrap]
    if not address.client.canonical_names:
        return places
    return list(dict.fromkeys((name, port) for host, port in places for name in _canonical_names(host)))


def _canonical_names(host: str) -> list[str]:
    check_place(host, _LAST_PORT)
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise ConnectionLostError(f"{host} can't be resolved: {error}") from error
    return sorted(_name_of(ip) for ip in found)


def _name_of(ip: str) -> str:
    """The address itself where it has no name."""
    try:
        return socket.gethostbyaddr(ip)[0]
    except (OSError, ValueError):  # a name server says what it likes
        return ip
