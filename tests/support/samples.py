"""Configurations as documents print them, with addresses of real brokers in place of theirs."""

from __future__ import annotations

import re
from pathlib import Path

_ADDRESSES = re.compile(r"^(?P<key>\s*[\w.-]*bootstrap\.servers\s*=).*$", re.MULTILINE)
_SECURED = re.compile(r"^\s*[\w-]+\.(security|ssl|sasl)\..*\n", re.MULTILINE)


def with_addresses(text: str, *servers: str) -> str:
    """In the order in which the clusters' lines stand in the file. Comments are left alone."""
    left = iter(servers)
    replaced = _ADDRESSES.sub(lambda found: f"{found['key']} {next(left)}", text)
    assert next(left, None) is None, "more clusters than the file has"
    return replaced


def with_stores(text: str, trust: Path, keys: Path, password: str) -> str:
    """The same trust and key store for each cluster, and their password."""
    for key, value in {
        "ssl.truststore.location": str(trust),
        "ssl.keystore.location": str(keys),
        "ssl.truststore.password": password,
        "ssl.keystore.password": password,
    }.items():
        text = re.sub(rf"^(.*{re.escape(key)}=).*$", lambda found, v=value: found[1] + v, text, flags=re.MULTILINE)  # type: ignore[misc]
    return text


def without_security(text: str) -> str:
    return _SECURED.sub("", text)
