"""What a client trusts and shows: read from its settings, from files or as they stand there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509

from sparkmirror.errors import ConfigError
from sparkmirror.net.security import Security
from sparkmirror.net.tls import pem
from sparkmirror.net.tls.store import Passwords, Store, read_pem, read_store

TRUST_FILE, TRUST_TEXT = "ssl.truststore.location", "ssl.truststore.certificates"
TRUST_PASSWORD = "ssl.truststore.password"
KEY_FILE, KEY_TEXT, CHAIN_TEXT = "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain"
STORE_PASSWORD, KEY_PASSWORD = "ssl.keystore.password", "ssl.key.password"
_OF_STORES = ("ssl.truststore.", "ssl.keystore.", "ssl.key.")

# What tells that a file is another one now.
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Certificates in DER. `anchors` None: those that this machine trusts. `key` is PKCS #8; empty: none is shown."""

    anchors: tuple[bytes, ...] | None = None
    chain: tuple[bytes, ...] = ()
    key: bytes = field(default=b"", repr=False)


def stamps_of(security: Security) -> tuple[Stamp | None, ...]:
    """Of the files that it names; None: a file is not there at the moment."""
    return tuple(_stamp(Path(path)) for path in (security.get(TRUST_FILE), security.get(KEY_FILE)) if path)


def load_material(security: Security) -> Material:
    """ConfigError names the client, the setting and the file."""
    own = _load_key(security)
    return Material(anchors=_load_anchors(security), chain=own.chain, key=own.key)


def seconds_valid(material: Material) -> tuple[float, float]:
    """When our own certificate begins and ends to be valid, from now; it must have one."""
    found, now = x509.load_der_x509_certificate(material.chain[0]), time.time()
    return found.not_valid_before_utc.timestamp() - now, found.not_valid_after_utc.timestamp() - now


def subject_of(material: Material) -> str:
    """Whose our own certificate is, as brokers write it; empty: there is none."""
    if not material.chain:
        return ""
    return x509.load_der_x509_certificate(material.chain[0]).subject.rfc4514_string()


def carry_material(security: Security) -> Security:
    """The same with the content of its stores in place of their files: executors need none of them."""
    if not security.has_tls:
        return security
    material = load_material(security)
    kept = [(key, value) for key, value in security.settings if not key.startswith(_OF_STORES)]
    return replace(security, settings=tuple(sorted((*kept, *_as_settings(material)))))


def _as_settings(material: Material) -> Iterator[tuple[str, str]]:
    if material.anchors is not None:
        yield TRUST_TEXT, _certificates(material.anchors)
    if material.key:
        yield KEY_TEXT, pem.join_block("PRIVATE KEY", material.key)
        yield CHAIN_TEXT, _certificates(material.chain)


def _certificates(found: tuple[bytes, ...]) -> str:
    return "".join(pem.join_block(pem.CERTIFICATE, each) for each in found)


def _load_anchors(security: Security) -> tuple[bytes, ...] | None:
    setting = TRUST_TEXT if security.get(TRUST_TEXT) else TRUST_FILE
    if not security.get(setting):
        return None
    passwords = Passwords(store=security.get(TRUST_PASSWORD) or None)
    found = _read(security, setting, passwords, wants_key=False)
    if not found.anchors:
        raise ConfigError(f"{security.owner}: {setting}: there is no certificate in it; expected those of the CA")
    return found.anchors


def _load_key(security: Security) -> Store:
    setting = KEY_TEXT if security.get(KEY_TEXT) else KEY_FILE
    if not security.get(setting):
        return Store()
    passwords = Passwords(store=security.get(STORE_PASSWORD) or None, key=security.get(KEY_PASSWORD) or None)
    found = _read(security, setting, passwords, wants_key=True)
    if not found.key or not found.chain:
        raise ConfigError(f"{security.owner}: {setting}: expected a private key with its certificate")
    return found


def _read(security: Security, setting: str, passwords: Passwords, *, wants_key: bool) -> Store:
    value = security.get(setting)
    try:
        if setting == TRUST_TEXT:
            return read_pem(value, None)
        if setting == KEY_TEXT:
            return read_pem(value + security.get(CHAIN_TEXT), passwords.key)
        return read_store(Path(value).read_bytes(), passwords, wants_key=wants_key)
    except OSError as error:
        raise ConfigError(f"{security.owner}: {setting}: {value} can't be read: {error.strerror}") from None
    except ValueError as error:
        where = f" ({value})" if setting in (TRUST_FILE, KEY_FILE) else ""
        raise ConfigError(f"{security.owner}: {setting}{where}: {error}; {_cure(setting)}") from None


def _cure(setting: str) -> str:
    if setting in (TRUST_FILE, TRUST_TEXT):
        return f"see {TRUST_PASSWORD}"
    return f"see {STORE_PASSWORD} and {KEY_PASSWORD}"


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
