"""OAUTHBEARER (RFC 7628, KIP-255): a token that says who we are."""

from __future__ import annotations

from collections.abc import Iterable

from sparkmirror.errors import AuthenticationError
from sparkmirror.net.sasl.plain import Conversation

_PART = b"\x01"


def converse(token: str, extensions: Iterable[tuple[str, str]] = ()) -> Conversation:
    pairs = [f"auth=Bearer {token}", *(f"{name}={value}" for name, value in extensions)]
    refusal = yield b"n,," + _PART + b"".join(pair.encode() + _PART for pair in pairs) + _PART
    if refusal:
        # The broker says the same again as an error, once this has asked for it.
        yield _PART
        raise AuthenticationError("the token was refused")
