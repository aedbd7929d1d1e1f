"""Logins: the user's JAAS text, and what brokers and token endpoints say while we tell them who we are."""

from __future__ import annotations

import contextlib

from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from sparkmirror.config.jaas import PLAIN_MODULE, find_section, parse_jaas
from sparkmirror.config.logins import SCRAM_256, PasswordLogin, TokenLogin
from sparkmirror.errors import AuthenticationError, ProtocolError
from sparkmirror.net.response import decode_response
from sparkmirror.net.sasl import scram
from sparkmirror.net.sasl.authentication import Authentication
from sparkmirror.net.sasl.token_endpoint import _read_answer
from sparkmirror.net.sasl.tokens import make_unsecured, read_token
from sparkmirror.net.security import Security
from tests.fuzz.config_targets import SEEDS
from tests.fuzz.target import Target

_LOGIN = f'{PLAIN_MODULE} required username="u" password="p\\"\\101";'
_SETTINGS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": _LOGIN}
_REFUSALS = (AuthenticationError, ProtocolError)

# RFC 7677's conversation; a line is a message of the server's.
_NONCE = "rOprNGfwEbeRWgbNEkqO"
_USER = PasswordLogin(mechanism=SCRAM_256, username="user", password="pencil")
_SCRAM = (
    f"r={_NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096\n"
    "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
)


def _parse_jaas(data: bytes) -> None:
    parse_jaas(data.decode("latin-1"))


def _find_section(data: bytes) -> None:
    find_section(data.decode("latin-1"))


def _converse(data: bytes) -> None:
    conversation = scram.converse(_USER, _NONCE)
    next(conversation)
    with contextlib.suppress(StopIteration):
        for message in data.split(b"\n"):
            conversation.send(message)


def _authenticate(data: bytes) -> None:
    """The first byte says how long the answer to the handshake is."""
    login = Authentication(Security.of(_SETTINGS, "fuzz"), "h", "h:1")
    login.start()
    size, rest = sum(data[:1]), memoryview(data)[1:]
    login.take(decode_response(SaslHandshakeResponse, rest[:size], 1, "h:1"))
    login.take(decode_response(SaslAuthenticateResponse, rest[size:], 2, "h:1"))


def _take_token(data: bytes) -> None:
    text, life_s = _read_answer(TokenLogin(endpoint="http://h/t"), data)
    read_token(text, "fuzz", life_s)


_HANDSHAKE = bytes(SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]).encode(version=1))
_ANSWER = bytes(
    SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=3000).encode(
        version=2
    )
)
_TOKEN = (
    b'{"access_token": "%s", "expires_in": 60}'
    % make_unsecured({"unsecuredLoginStringClaim_sub": "u"}, 0.0).text.encode()
)

TARGETS = [
    Target("jaas", _parse_jaas, [_LOGIN.encode()], (ValueError,)),
    Target("jaas-file", _find_section, [(SEEDS / "kafka_client_jaas.conf").read_bytes()], (ValueError,)),
    Target("scram", _converse, [_SCRAM.encode()], _REFUSALS),
    Target("sasl", _authenticate, [bytes((len(_HANDSHAKE),)) + _HANDSHAKE + _ANSWER], _REFUSALS),
    Target("token", _take_token, [_TOKEN], _REFUSALS),
]
