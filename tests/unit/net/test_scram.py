"""SCRAM: the RFC's own conversation, and servers that lie."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.logins import PasswordLogin
from sparkmirror.errors import AuthenticationError, ProtocolError
from sparkmirror.net.sasl import scram
from sparkmirror.net.sasl.plain import Conversation

NONCE, SERVERS = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
FIRST = f"r={NONCE}{SERVERS},s={SALT},i=4096"
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
LOGIN = PasswordLogin(mechanism="SCRAM-SHA-256", username="user", password="pencil")


def begun() -> Conversation:
    conversation = scram.converse(LOGIN, NONCE)
    assert next(conversation) == f"n,,n=user,r={NONCE}".encode()
    return conversation


def test_the_conversation_of_rfc_7677() -> None:
    conversation = begun()
    assert conversation.send(FIRST.encode()) == f"c=biws,r={NONCE}{SERVERS},p={PROOF}".encode()
    with pytest.raises(StopIteration):
        conversation.send(f"v={SIGNATURE}".encode())


def test_names_are_escaped_and_delegation_tokens_say_so() -> None:
    odd = PasswordLogin(mechanism="SCRAM-SHA-512", username="a=b,c", password="p", is_token=True)
    assert next(scram.converse(odd, "N")) == b"n,,n=a=3Db=2Cc,r=N,tokenauth=true"


def test_each_conversation_has_a_nonce_of_its_own() -> None:
    assert len({next(scram.converse(LOGIN)) for _ in range(50)}) == 50


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (FIRST.replace("4096", "4095"), "SCRAM with 4095 iterations; expected 4096 to 1000000"),
        (FIRST.replace("4096", "999999999"), "SCRAM with 999999999 iterations"),
        (FIRST.replace("4096", "0"), "is none"),
        (FIRST.replace("4096", "4096000000000000"), "is none"),
        (FIRST.replace(NONCE, "another"), "another's nonce"),
        (FIRST.replace(SERVERS, ""), "another's nonce"),
        (FIRST.replace(SALT, "!"), "is none"),
        (FIRST.replace(SALT, "A"), "broken base64"),
        (f"m=ext,{FIRST}", "is none"),
        ("", "is none"),
        (FIRST + "," + "x" * 5000, "bytes"),
    ],
)
def test_a_first_message_that_can_not_be_is_refused(first: str, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        begun().send(first.encode())


@pytest.mark.parametrize(
    ("final", "kind", "said"),
    [
        (f"v={base64.b64encode(bytes(32)).decode()}", AuthenticationError, "does not know the password itself"),
        ("v=" + SIGNATURE[:8], AuthenticationError, "does not know the password itself"),
        ("e=other-error", AuthenticationError, "it was refused: 'other-error'"),
        ("", ProtocolError, "is none"),
        ("v=!", ProtocolError, "is none"),
        ("ok", ProtocolError, "is none"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_not_believed(final: str, kind: type[Exception], said: str) -> None:
    conversation = begun()
    conversation.send(FIRST.encode())
    with pytest.raises(kind, match=said):
        conversation.send(final.encode())


@given(st.lists(st.binary(max_size=60), min_size=2, max_size=2))
def test_whatever_a_server_sends_it_is_never_let_in(answers: list[bytes]) -> None:
    conversation = begun()
    with pytest.raises((ProtocolError, AuthenticationError)):
        for answer in answers:
            conversation.send(answer)
