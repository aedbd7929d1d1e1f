"""Key and trust stores: certificates and keys, or a ValueError that says what is wrong."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.net.tls import jks
from sparkmirror.net.tls.store import Passwords, read_store
from tests.fuzz.target import Target

STORES = Path(__file__).parents[1] / "golden" / "stores"
_BOTH = Passwords(store="storepass", key="keypass")


def _read_jks(data: bytes) -> None:
    """Without its digest, which would refuse every change."""
    for key in jks.parse_jks(data, None).keys:
        jks.open_key(key, "keypass")


def _read_store(data: bytes) -> None:
    read_store(data, _BOTH, wants_key=True)


def _inputs(*names: str) -> list[bytes]:
    return [(STORES / name).read_bytes() for name in names]


TARGETS = [
    Target("jks", _read_jks, _inputs("own.jks", "trust.jks"), (ValueError,)),
    Target("stores", _read_store, _inputs("own.jks", "own.p12", "own.pem"), (ValueError,)),
]
