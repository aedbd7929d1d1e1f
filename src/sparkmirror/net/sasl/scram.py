"""SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password, and neither says it.

    client first   n,,n=USER,r=NONCE
    server first   r=NONCE+SERVER'S,s=SALT,i=ITERATIONS
    client final   c=biws,r=NONCE+SERVER'S,p=PROOF
    server final   v=SIGNATURE, or e=ERROR

As in Kafka's own client, names and passwords are UTF-8 without SASLprep. Whatever the server says is checked: with few
iterations a password could be tried out offline, and very many would hold us up.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import hmac
import re
import secrets

from sparkmirror.config.logins import SCRAM_256, SCRAM_512, PasswordLogin
from sparkmirror.errors import AuthenticationError, ProtocolError
from sparkmirror.net.sasl.plain import Conversation

HASHES = {SCRAM_256: "sha256", SCRAM_512: "sha512"}
FEWEST_ITERATIONS = 4096  # Kafka's own bound
MOST_ITERATIONS = 1_000_000
MOST_BYTES = 4096
_NO_BINDING = base64.b64encode(b"n,,").decode()
_FIRST = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/=]+),i=([1-9][0-9]{0,8})(?:,.*)?")
_FINAL = re.compile(r"(?:v=([A-Za-z0-9+/=]+)|e=([^,]+))(?:,.*)?")


def converse(login: PasswordLogin, nonce: str = "") -> Conversation:
    """`nonce`: for the tests of the RFC's examples; otherwise a new one each time."""
    nonce = nonce or secrets.token_urlsafe(24)
    hash_name = HASHES[login.mechanism]
    extension = ",tokenauth=true" if login.is_token else ""
    bare = f"n={_escape(login.username)},r={nonce}{extension}"
    first = _text((yield f"n,,{bare}".encode()))
    both_nonces, salt, iterations = _read_first(first, nonce)
    without_proof = f"c={_NO_BINDING},r={both_nonces}"
    salted = _salt_password(hash_name, login.password, salt, iterations)
    said = ",".join((bare, first, without_proof)).encode()
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), said, hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    final = _text((yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()))
    expected = hmac.digest(hmac.digest(salted, b"Server Key", hash_name), said, hash_name)
    _check_final(final, expected)


def _escape(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _text(message: bytes) -> str:
    if len(message) > MOST_BYTES:
        raise ProtocolError(f"a SCRAM message of {len(message)} bytes")
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise ProtocolError("a SCRAM message that is no text") from None


def _read_first(message: str, nonce: str) -> tuple[str, bytes, int]:
    found = _FIRST.fullmatch(message)
    if found is None:
        raise ProtocolError("a SCRAM message that is none")
    both_nonces, salt, iterations = found.group(1), _decode(found.group(2)), int(found.group(3))
    if not both_nonces.startswith(nonce) or both_nonces == nonce:
        raise ProtocolError("a SCRAM message with another's nonce")
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise ProtocolError(
            f"SCRAM with {iterations} iterations; expected {FEWEST_ITERATIONS} to {MOST_ITERATIONS}: "
            "set the user's password anew on the broker"
        )
    return both_nonces, salt, iterations


def _check_final(message: str, expected: bytes) -> None:
    found = _FINAL.fullmatch(message)
    if found is None:
        raise ProtocolError("a SCRAM message that is none")
    if found.group(2) is not None:
        raise AuthenticationError(f"it was refused: {found.group(2)[:80]!r}")
    if not hmac.compare_digest(_decode(found.group(1)), expected):
        raise AuthenticationError("the broker does not know the password itself: it may be another's machine")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError("a SCRAM message with broken base64") from None


@functools.lru_cache(maxsize=64)
def _salt_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Slow on purpose; the same for every connection of a user."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
