"""The table of every key: MirrorMaker 2's, its workers' and clients', and our own.

A key comes into force by the state in its line here and by being read in `build.py`. COMPATIBILITY.md is checked
against this table.
"""

from __future__ import annotations

from sparkmirror.config.keys import clients, copying, groups, security, topics, unread, worker
from sparkmirror.config.keys.key import Key, Reader, Scope, State

__all__ = ["FAMILIES", "KNOWN_KEYS", "PLACES", "Key", "Reader", "Scope", "State", "client_key", "place_of_form"]

_SINGLE = [
    value
    for module in (topics, groups, copying, worker, clients)
    for value in vars(module).values()
    if isinstance(value, Key)
]
_TABLES = (
    clients.CONSUMER,
    clients.CONSUMER_CONNECTION,
    clients.PRODUCER,
    clients.PRODUCER_CONNECTION,
    clients.ADMIN_CONNECTION,
    security.SECURITY,
    unread.UNREAD,
)

KNOWN_KEYS: dict[str, Key[object]] = {key.name: key for key in (*_SINGLE, *(key for each in _TABLES for key in each))}

# Whole families whose members nobody can list: they belong to providers, plugins and Java's transforms.
FAMILIES = (
    "config.providers.",
    "replication.policy.",
    "topic.creation.",
    "transforms.",
    "predicates.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "listeners.https.",
    "admin.listeners",
)

_SCOPES = {"flow": Scope.FLOW, "source": Scope.CLUSTER, "target": Scope.CLUSTER, "cluster": Scope.CLUSTER}


def place_of_form(form: str) -> tuple[Scope, str]:
    """`{flow}.source.consumer.x` -> FLOW, `source.consumer.x`."""
    if not form.startswith("{"):
        return Scope.GLOBAL, form
    owner, _, name = form[1:].partition("}.")
    return _SCOPES[owner], name


# Everything that somebody reads, by where it stands in a file.
PLACES: dict[tuple[Scope, str], Key[object]] = {
    place_of_form(form): key for key in KNOWN_KEYS.values() for form in key.forms()
}


def client_key(bare: str) -> Key[object] | None:
    """The client's key that was meant by a name without `consumer.`, `producer.` or `admin.`."""
    named = (KNOWN_KEYS.get(f"{client}.{bare}") for client in ("consumer", "producer", "admin"))
    return next((key for key in named if key is not None), None)
