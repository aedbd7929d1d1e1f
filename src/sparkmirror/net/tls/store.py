"""Key and trust stores, whatever their format: what they are is seen in their content, not in their name or type."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from sparkmirror.net.tls import jks, pem

_JCEKS = b"\xce\xce\xce\xce"
_DER_SEQUENCE = b"\x30"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Certificates in DER, the key in PKCS #8. `chain` begins with the key's own certificate."""

    trusted: tuple[bytes, ...] = ()
    chain: tuple[bytes, ...] = ()
    key: bytes = field(default=b"", repr=False)

    @property
    def anchors(self) -> tuple[bytes, ...]:
        """What Java trusts of a store: its certificates, and that of its key."""
        return (*self.trusted, *self.chain[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    store: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)


def read_store(data: bytes, passwords: Passwords, *, wants_key: bool) -> Store:
    """ValueError says what is wrong with it, without any secret. Keys that nobody asks for are not opened."""
    if data.startswith(jks.MAGIC):
        return _read_jks(data, passwords, wants_key=wants_key)
    if b"-----BEGIN " in data:
        return read_pem(data.decode("latin-1"), passwords.key or passwords.store)
    if data.startswith(_DER_SEQUENCE):
        return _read_pkcs12(data, passwords)
    kind = "a JCEKS store" if data.startswith(_JCEKS) else "neither JKS, PKCS12 nor PEM"
    raise ValueError(f"it is {kind}: expected JKS, PKCS12 or PEM (keytool -importkeystore converts)")


def read_pem(text: str, key_password: str | None) -> Store:
    """Certificates in their order, and the first private key."""
    blocks = list(pem.split_blocks(text))
    certificates = tuple(block.content for block in blocks if block.label == pem.CERTIFICATE)
    key = next((block.content for block in blocks if block.is_key), None)
    if key is None:
        return Store(trusted=certificates)
    return Store(chain=certificates, trusted=certificates[1:], key=_normalize_key(key, key_password))


def _read_jks(data: bytes, passwords: Passwords, *, wants_key: bool) -> Store:
    found = jks.parse_jks(data, passwords.store)
    if not found.keys:
        return Store(trusted=found.trusted)
    entry = found.keys[0]
    password = passwords.key or passwords.store
    if not wants_key:
        return Store(trusted=(*found.trusted, *(key.chain[0] for key in found.keys if key.chain)))
    if password is None:
        raise ValueError("its key needs a password")
    return Store(trusted=found.trusted, chain=entry.chain, key=_normalize_key(jks.open_key(entry, password), None))


def _read_pkcs12(data: bytes, passwords: Passwords) -> Store:
    password = None if passwords.store is None else passwords.store.encode()
    try:
        with warnings.catch_warnings(action="ignore"):  # of BER, which some tools write
            found = pkcs12.load_pkcs12(data, password)
    except ValueError:
        wrong = (
            "it is locked with a password" if password is None else "the password is wrong, or it is no PKCS12 store"
        )
        raise jks.WrongPasswordError(wrong) from None
    except UnsupportedAlgorithm as error:
        raise ValueError(f"it is locked in a way that is not supported: {error}") from None
    more = tuple(_der(each) for each in found.additional_certs)
    if found.key is None:
        own = () if found.cert is None else (_der(found.cert),)
        return Store(trusted=(*own, *more))
    chain = (*([_der(found.cert)] if found.cert else []), *more)
    return Store(chain=chain, trusted=more, key=_key_bytes(found.key))


def _normalize_key(content: bytes, password: str | None) -> bytes:
    try:
        key = serialization.load_der_private_key(content, None if password is None else password.encode())
    except TypeError:
        if password is None:
            raise ValueError("its key needs a password") from None
        key = serialization.load_der_private_key(content, None)
    except ValueError:
        raise ValueError("its key can't be read: the password is wrong, or it is no PKCS #8 key") from None
    return _key_bytes(key)


def _key_bytes(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _der(found: pkcs12.PKCS12Certificate) -> bytes:
    return found.certificate.public_bytes(serialization.Encoding.DER)
