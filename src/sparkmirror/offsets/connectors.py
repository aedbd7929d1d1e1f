"""The configurations of connectors, as the workers of Kafka Connect keep them in a topic of theirs. Pure.

connector-<name>   {"properties": {...}}; null: it was deleted
Other keys say what tasks there are, who may stop them, and the like. No key begins otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sparkmirror.net.address import parse_host_port
from sparkmirror.offsets.internal_topic import parse_object

_CONNECTOR = b"connector-"
_KEYS = (
    _CONNECTOR,
    b"task-",
    b"commit-",
    b"target-state-",
    b"tasks-fencing-",
    b"restart-connector-",
    b"session-key",
    b"logger-cluster-",
)
# Connect also takes a class by these names.
_SOURCE_CONNECTORS = ("MirrorSourceConnector", "MirrorSource")

HostPort = tuple[str, int]


class Connector(NamedTuple):
    """What a configuration says of where records come from and go to: nothing secret. Empty where it says nothing.

    `producer_servers`: where the worker's own producer is not used.
    """

    kind: str
    source: str
    target: str
    source_servers: frozenset[HostPort]
    target_servers: frozenset[HostPort]
    producer_servers: frozenset[HostPort] | None

    @property
    def is_mirror(self) -> bool:
        return self.kind.rpartition(".")[2] in _SOURCE_CONNECTORS


def is_known_key(key: bytes | None) -> bool:
    return key is not None and key.startswith(_KEYS)


def note_connector(found: dict[str, Connector], names: Collection[str], key: bytes | None, value: bytes | None) -> None:
    """Bring what is known of these connectors up to a record."""
    if key is None or not key.startswith(_CONNECTOR):
        return
    name = key[len(_CONNECTOR) :].decode(errors="replace")
    if name not in names:
        return
    found.pop(name, None)
    if value is not None:
        found[name] = _parse_connector(value)


def parse_places(servers: str) -> frozenset[HostPort]:
    """What can't be read is left out: a placeholder that only the worker can fill, for one."""
    return frozenset(_places(servers.split(",")))


def _parse_connector(value: bytes) -> Connector:
    properties = parse_object(value).get("properties")
    said: Mapping[object, object] = properties if isinstance(properties, dict) else {}

    def text(key: str, default: str = "") -> str:
        found = said.get(key, default)
        return found.strip() if isinstance(found, str) else default

    producer = "producer.override.bootstrap.servers"
    return Connector(
        kind=text("connector.class"),
        source=text("source.cluster.alias"),
        target=text("target.cluster.alias", "target"),
        source_servers=parse_places(text("source.cluster.bootstrap.servers")),
        target_servers=parse_places(text("target.cluster.bootstrap.servers")),
        producer_servers=parse_places(text(producer)) if producer in said else None,
    )


def _places(servers: Iterable[str]) -> Iterable[HostPort]:
    for server in servers:
        try:
            host, port = parse_host_port(server.strip())
        except ValueError:
            continue
        yield host.lower(), port
