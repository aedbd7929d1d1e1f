"""PLAIN (RFC 4616): user and password as they are. Over TLS, or a network that nobody else listens on."""

from __future__ import annotations

from collections.abc import Generator

from sparkmirror.config.logins import PasswordLogin

# Yields what is sent, is sent what the broker answers, ends when both are content.
Conversation = Generator[bytes, bytes, None]


def converse(login: PasswordLogin) -> Conversation:
    yield b"\0".join((b"", login.username.encode(), login.password.encode()))
