"""Java's own key store format, JKS (sun.security.provider.JavaKeyStore).

magic      u32   FEEDFEED
version    u32   1 or 2
count      u32
entries          tag u32, alias utf, date i64, then
    1  key       size u32, EncryptedPrivateKeyInfo; count u32, certificates
    2  trusted   certificate
digest     20    SHA-1 of the password in UTF-16, "Mighty Aphrodite" and all of the above

certificate      type utf (from version 2 on), size u32, DER
utf              size u16, bytes
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, field

MAGIC = b"\xfe\xed\xfe\xed"
_SALT = b"Mighty Aphrodite"
_DIGEST_BYTES = 20
_KEY, _TRUSTED = 1, 2
# The protector's name (1.3.6.1.4.1.42.2.17.1.1) as DER; nothing else protects keys in this format.
_PROTECTOR = bytes.fromhex("060a2b060104012a02110101")


class WrongPasswordError(ValueError):
    """The password is not the one that the store, or the key in it, was made with."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """`protected` is what `open_key` takes; `chain` begins with the key's own certificate, in DER."""

    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class JavaStore:
    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def parse_jks(data: bytes, password: str | None) -> JavaStore:
    """ValueError where it is broken. Without a password it is not known whether somebody changed it, as in Java."""
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _SALT + data[:-_DIGEST_BYTES]).digest()
        if not hmac.compare_digest(expected, data[-_DIGEST_BYTES:]):
            raise WrongPasswordError("the password is wrong, or the store is damaged")
    try:
        return _read_entries(_Reader(data[: -_DIGEST_BYTES or None]))
    except struct.error:
        raise ValueError("the store ends before its last entry") from None


def open_key(entry: KeyEntry, password: str) -> bytes:
    """The private key as PKCS #8 in DER.

    It is XORed with a chain of SHA-1 digests of password and salt:  salt 20 | key | SHA-1 of password and key
    """
    begin = entry.protected.find(_PROTECTOR)
    if begin < 0:
        raise ValueError("the key is protected in a way that Java's own stores do not have")
    body = _octets(entry.protected, begin + len(_PROTECTOR))
    salt, coded, check = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:-_DIGEST_BYTES], body[-_DIGEST_BYTES:]
    secret = _utf16(password)
    stream, link = b"", salt
    while len(stream) < len(coded):
        link = hashlib.sha1(secret + link).digest()
        stream += link
    key = bytes(a ^ b for a, b in zip(coded, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key).digest(), check):
        raise WrongPasswordError("the password of the key is wrong")
    return key


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        return int(self._unpack(">I"))

    def tag(self) -> int:
        """The kind of the next entry; its alias and date count for nothing."""
        found = self.number()
        self.text()
        self._unpack(">q")
        return found

    def text(self) -> bytes:
        return self._take(int(self._unpack(">H")))

    def sized(self) -> bytes:
        return self._take(self.number())

    def _unpack(self, layout: str) -> int:
        (value,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return int(value)

    def _take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise struct.error
        self._at += size
        return found


def _read_entries(reader: _Reader) -> JavaStore:
    reader.number()  # the magic, by which it was known
    version, count = reader.number(), reader.number()
    if version not in (1, 2):
        raise ValueError(f"version {version} of Java's key stores is not known; expected 1 or 2")

    def certificate() -> bytes:
        if version == 2:
            reader.text()
        return reader.sized()

    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(count):
        tag = reader.tag()
        if tag == _KEY:
            protected = reader.sized()
            keys.append(KeyEntry(protected, tuple(certificate() for _ in range(reader.number()))))
        elif tag == _TRUSTED:
            trusted.append(certificate())
        else:
            raise ValueError(f"an entry of kind {tag}; expected a key or a certificate")
    return JavaStore(tuple(keys), tuple(trusted))


def _octets(data: bytes, at: int) -> bytes:
    """The OCTET STRING behind the protector's name and its optional NULL parameter."""
    at += 2 if data[at : at + 2] == b"\x05\x00" else 0
    if data[at : at + 1] != b"\x04":
        raise ValueError("the protected key is not in DER")
    if at + 1 >= len(data):
        raise ValueError("the protected key ends before its content")
    size, at = data[at + 1], at + 2
    if size & 0x80:
        width = size & 0x7F
        size, at = int.from_bytes(data[at : at + width], "big"), at + width
    return data[at : at + size]


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")
