"""What may come in the place of a greeting or a login: a named error within a bound of time and memory."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from sparkmirror.errors import AuthenticationError, ConnectionLostError, ProtocolError, SparkmirrorError
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from tests.hostile.fake_broker import FakeBroker
from tests.hostile.lies import I32, MOST_I32, MOST_I64
from tests.hostile.proxy import API_VERSIONS, AUTHENTICATE, HANDSHAKE
from tests.support import sasl
from tests.support.memory import grown_bytes

TIMEOUT_S = 0.5
LONGEST_S = 3.0
MOST_BYTES = 20 << 20
PLAIN, SCRAM, TLS = sasl.client_settings("PLAIN"), sasl.client_settings("SCRAM-SHA-256"), {"security.protocol": "SSL"}


@dataclass(frozen=True)
class Greeting:
    """What a broker does, how the client is set, and the error that must come of it; None: the connection stands."""

    name: str
    expected: type[SparkmirrorError] | None
    answers: dict[int, Any] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    upon_connect: bytes = b""
    is_mute: bool = False


def _handshake(**fields: Any) -> dict[int, Any]:
    return {HANDSHAKE: lambda _: SaslHandshakeResponse(**{"error_code": 0, "mechanisms": ["PLAIN"], **fields})}


def _authenticate(**fields: Any) -> dict[int, Any]:
    said = {"error_code": 0, "error_message": None, "auth_bytes": b"", "session_lifetime_ms": 0, **fields}
    return _handshake() | {AUTHENTICATE: lambda _: SaslAuthenticateResponse(**said)}


_NO_VERSIONS = ApiVersionsResponse(error_code=0, api_keys=[], throttle_time_ms=0)

GREETINGS = [
    Greeting("silence", ConnectionLostError, is_mute=True),
    Greeting("a frame of 200 MB before anybody is known", ProtocolError, upon_connect=I32.pack(200 << 20), is_mute=True),
    Greeting("a frame of 1 MB before anybody is known", ProtocolError, upon_connect=I32.pack(1 << 20) + bytes(1 << 20), is_mute=True),
    Greeting("a frame of negative size", ProtocolError, upon_connect=I32.pack(-1), is_mute=True),
    Greeting("text", ProtocolError, upon_connect=b"220 mail.example ESMTP\r\n", is_mute=True),
    Greeting("TLS where none is expected", AuthenticationError, upon_connect=b"\x15\x03\x01\x00\x02\x02\x28", is_mute=True),
    Greeting("versions of garbage", ProtocolError, {API_VERSIONS: lambda _: b"\xff" * 100}),
    Greeting("versions without an end", ProtocolError, {API_VERSIONS: lambda _: b"\0\0\xff\xff\xff\xff\x07" + bytes(100_000)}),
    Greeting("versions as null", ProtocolError, {API_VERSIONS: lambda _: b"\0\0\0\0\0\0\0\0"}),
    Greeting("versions in a tag without an end", None, {API_VERSIONS: lambda _: b"\0\0\1\0\0\0\0\1\5\xff\xff\xff\xff\x07"}),
    Greeting("no versions, and SASL", SparkmirrorError, {API_VERSIONS: lambda _: _NO_VERSIONS}, PLAIN),
    Greeting("garbage instead of TLS", AuthenticationError, settings=TLS, upon_connect=os.urandom(5000), is_mute=True),
    Greeting("a TLS record of garbage", ConnectionLostError, settings=TLS, upon_connect=b"\x16\x03\x03\x40\x00" + bytes(16384), is_mute=True),
    Greeting("silence instead of TLS", ConnectionLostError, settings=TLS, is_mute=True),
    Greeting("a handshake of garbage", ProtocolError, {HANDSHAKE: lambda _: b"\xff" * 9}, PLAIN),
    Greeting("an unknown error of the handshake", AuthenticationError, _handshake(error_code=-30), PLAIN),
    Greeting("2,000 other mechanisms", AuthenticationError, _handshake(error_code=33, mechanisms=["X" * 10] * 2_000), PLAIN),
    Greeting("a login of garbage", ProtocolError, _handshake() | {AUTHENTICATE: lambda _: b"\0"}, PLAIN),
    Greeting("a login answer beyond 512 KB", ProtocolError, _authenticate(auth_bytes=bytes(1 << 20)), PLAIN),
    Greeting("a session of -2^63 ms", None, _authenticate(session_lifetime_ms=-MOST_I64), PLAIN),
    Greeting("a session of 2^63 ms", None, _authenticate(session_lifetime_ms=MOST_I64), PLAIN),
    Greeting("an unknown error of the login", AuthenticationError, _authenticate(error_code=32_767, error_message="\x1b[2J" * 5000), PLAIN),
    Greeting("SCRAM that is none", ProtocolError, _authenticate(auth_bytes=b"\xff\0" * 500), SCRAM),
    Greeting("SCRAM of a billion rounds", ProtocolError, _authenticate(auth_bytes=b"r=x,s=QQ==,i=999999999"), SCRAM),
]  # fmt: skip


@pytest.mark.parametrize("greeting", GREETINGS, ids=lambda greeting: greeting.name)
def test_a_greeting_is_understood_or_refused_by_name(greeting: Greeting) -> None:
    client = Client(security=Security.of(greeting.settings, "A->B source"))
    began = time.monotonic()
    with FakeBroker(greeting.answers, upon_connect=greeting.upon_connect, is_mute=greeting.is_mute) as broker:
        host, _, port = broker.server.rpartition(":")
        with grown_bytes() as grown:
            if greeting.expected is None:
                Channel(host, int(port), client, TIMEOUT_S).close()
            else:
                with pytest.raises(greeting.expected) as caught:
                    Channel(host, int(port), client, TIMEOUT_S)
                assert len(str(caught.value)) < 2000 and str(caught.value).isprintable()
    assert time.monotonic() - began < LONGEST_S
    assert grown() < MOST_BYTES


@pytest.mark.parametrize("size", [MOST_I32, -MOST_I32, 0, 3])
def test_a_size_that_no_answer_has_is_refused_before_memory_is_taken(size: int) -> None:
    with FakeBroker(upon_connect=I32.pack(size), is_mute=True) as broker, grown_bytes() as grown:
        host, _, port = broker.server.rpartition(":")
        with pytest.raises(ProtocolError, match="announced a response of"):
            Channel(host, int(port), Client(), TIMEOUT_S)
    assert grown() < MOST_BYTES


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("h" * 30_000, 9092),
        ("h" * 64, 9092),
        ("a..b", 9092),
        ("", 9092),
        ("a\0b", 9092),
        ("a\x1b[2Jb", 9092),
        ("\ud800", 9092),
        ("127.0.0.1\n", 9092),
        ("xn--\u00fc", 9092),
        ("127.0.0.1", 65_536 + 22),
        ("127.0.0.1", -1),
        ("127.0.0.1", 0),
    ],
    ids=lambda value: ascii(value)[:20],
)
@pytest.mark.parametrize("settings", [{}, TLS], ids=["plain", "TLS"])
def test_a_place_that_no_broker_can_have_is_not_reached(host: str, port: int, settings: dict[str, str]) -> None:
    client = Client(security=Security.of(settings, "A->B source"))
    with pytest.raises(ConnectionLostError) as caught:
        Channel(host, port, client, TIMEOUT_S)
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()
