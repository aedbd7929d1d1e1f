"""Makes and signs the statement by which a token endpoint knows us, as Kafka's own clients make it.

    header    the template's, then alg and typ
    payload   aud, iss and sub of the settings, then the template's, then iat, exp, nbf and jti

Files are read each time, which is seldom: whoever replaces a key or a ready statement need not restart anything.
"""

from __future__ import annotations

import base64
import json
import uuid
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from sparkmirror.config.assertions import FILE_KEY, KEY_FILE_KEY, PASSPHRASE_KEY, RS256, TEMPLATE_KEY, Assertion
from sparkmirror.errors import AuthenticationError

_ES256_BYTES = 32


def make_assertion(assertion: Assertion, now: float) -> str:
    """AuthenticationError names the setting and the file."""
    if assertion.file:
        return _read(FILE_KEY, assertion.file).decode("latin-1").strip()
    template = _read_template(assertion.template_file)
    seconds = int(now)
    times = {"iat": seconds, "exp": seconds + assertion.valid_s, "nbf": seconds - assertion.valid_before_s}
    header = template.get("header", {}) | {"alg": assertion.algorithm, "typ": "JWT"}
    payload = dict(assertion.claims) | template.get("payload", {}) | times
    if assertion.has_id:
        payload["jti"] = str(uuid.uuid4())
    content = f"{_encode_part(header)}.{_encode_part(payload)}"
    return f"{content}.{_encode(_sign(assertion, content.encode()))}"


def _sign(assertion: Assertion, content: bytes) -> bytes:
    key = _load_key(assertion)
    if assertion.algorithm == RS256 and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    if assertion.algorithm != RS256 and isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 256:
        r, s = decode_dss_signature(key.sign(content, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_ES256_BYTES) + s.to_bytes(_ES256_BYTES)
    wanted = "an RSA key" if assertion.algorithm == RS256 else "a key on the curve P-256"
    raise AuthenticationError(f"{KEY_FILE_KEY}: {assertion.algorithm} needs {wanted}, and {assertion.key_file} is none")


def _load_key(assertion: Assertion) -> object:
    content = _read(KEY_FILE_KEY, assertion.key_file)
    passphrase = assertion.passphrase.encode() or None
    try:
        return serialization.load_pem_private_key(content, passphrase)
    except TypeError:
        said = "it is not locked" if passphrase else "it is locked"
    except ValueError:
        said = "it is no PEM of a private key, or the passphrase is wrong"
    raise AuthenticationError(f"{KEY_FILE_KEY}: {assertion.key_file}: {said}: see {PASSPHRASE_KEY}") from None


def _read_template(file: str) -> dict[str, dict[str, Any]]:
    if not file:
        return {}
    try:
        found = json.loads(_read(TEMPLATE_KEY, file))
        if all(isinstance(part, dict) for part in (found, *found.values())):
            return dict(found)
    except (ValueError, RecursionError, AttributeError):
        pass
    raise AuthenticationError(f'{TEMPLATE_KEY}: {file}: expected JSON {{"header": {{...}}, "payload": {{...}}}}')


def _read(setting: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise AuthenticationError(f"{setting}: can't read {file} on this machine: {error.strerror}") from None


def _encode_part(part: dict[str, Any]) -> str:
    return _encode(json.dumps(part, separators=(",", ":")).encode())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
