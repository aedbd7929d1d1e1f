"""Tells a key that Kafka or sparkmirror knows from a slip of the pen, and guesses what was meant."""

from __future__ import annotations

from difflib import get_close_matches

from sparkmirror.config.keys import KNOWN_KEYS

# Whole families that go to Kafka clients, Connect workers or plugins; their members are not listed here.
_FAMILIES = (
    "ssl.",
    "sasl.",
    "producer.",
    "consumer.",
    "admin.",
    "config.providers.",
    "replication.policy.",
    "topic.creation.",
    "transforms.",
    "predicates.",
    "key.converter",
    "value.converter",
    "header.converter",
    "offset.storage.",
    "status.storage.",
    "config.storage.",
    "offset.flush.",
    "rest.advertised.",
    "access.control.",
    "listeners.https.",
    "on.",
)

_SINGLE = frozenset(
    {
        "security.protocol",
        "client.id",
        "group.id",
        "plugin.path",
        "connector.plugin.version",
        "exactly.once.source.support",
        "offsets.storage.topic",
        "response.http.headers.config",
        "transaction.boundary.interval.ms",
    }
)

# High enough to leave other programs' keys alone, low enough to find `.interval.ms` for `.interval.seconds`.
_LIKENESS = 0.88


def is_known(name: str) -> bool:
    return name in KNOWN_KEYS or name in _SINGLE or name.startswith(_FAMILIES)


def suggestion(name: str) -> str | None:
    """The known key that an unknown one was probably meant to be. Keys are case-sensitive, as in Java."""
    if is_known(name):
        return None
    close = get_close_matches(name.lower(), KNOWN_KEYS, n=1, cutoff=_LIKENESS)
    return close[0] if close else None
