"""The steps of an authentication, without a socket: what is asked next, and how each refusal is worded."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from sparkmirror.config.jaas import KERBEROS_MODULE, OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.config.logins import PasswordLogin
from sparkmirror.errors import AuthenticationError, ConfigError, ProtocolError
from sparkmirror.net.sasl import plain
from sparkmirror.net.sasl.authentication import MOST_ROUNDS, Authentication, plan_renewal, require_login
from sparkmirror.net.sasl.plain import Conversation
from sparkmirror.net.security import Security

OWNER, PLACE = "A->B source consumer", "broker-1:9092"
HANDSHAKE = SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])
PLAIN = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{PLAIN_MODULE} required username="alice" password="hush-hush";',
}
SCRAM = {
    **PLAIN,
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.jaas.config": PLAIN["sasl.jaas.config"].replace(PLAIN_MODULE, SCRAM_MODULE),
}
TOKEN = {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="me" extension_pool="x";',
}


def begin(settings: Mapping[str, str]) -> Authentication:
    security = Security.of({"security.protocol": "SASL_PLAINTEXT", **settings}, OWNER)
    return Authentication(security, "broker-1", PLACE)


def answer(
    data: bytes = b"", code: int = 0, message: str | None = None, lifetime_ms: int = 0
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=code, error_message=message, auth_bytes=data, session_lifetime_ms=lifetime_ms
    )


def test_plain_takes_two_requests() -> None:
    login = begin(PLAIN)
    assert login.start().mechanism == "PLAIN"
    assert login.take(HANDSHAKE).auth_bytes == b"\0alice\0hush-hush"
    assert login.take(answer(lifetime_ms=3000)) is None
    assert 2.55 <= login.renew_after_s <= 2.85


def test_a_token_with_extensions_and_a_refusal_that_is_asked_for() -> None:
    login = begin(TOKEN)
    login.start()
    first = login.take(HANDSHAKE).auth_bytes
    assert first.startswith(b"n,,\x01auth=Bearer eyJ") and first.endswith(b".\x01pool=x\x01\x01")
    assert login.take(answer(b'{"status":"invalid_token"}')).auth_bytes == b"\x01"
    with pytest.raises(AuthenticationError) as caught:
        login.take(answer(code=58, message='{"status":"invalid_token"}'))
    assert str(caught.value) == (
        f'{OWNER}: {PLACE}: the broker refuses our token ({{"status":"invalid_token"}}): see that the token is for '
        "these brokers and has not ended, and that all clocks are right"
    )


def test_a_refusal_that_is_taken_back_is_still_one() -> None:
    login = begin(TOKEN)
    login.start()
    login.take(HANDSHAKE)
    login.take(answer(b"{}"))
    with pytest.raises(AuthenticationError, match="the token was refused"):
        login.take(answer())


@pytest.mark.parametrize(
    ("code", "mechanisms", "said"),
    [
        (33, ["SCRAM-SHA-512", "GSSAPI"], "sasl.mechanism PLAIN is not enabled there, only SCRAM-SHA-512, GSSAPI"),
        (33, [], "sasl.mechanism PLAIN is not enabled there, only none"),
        (34, [], "security.protocol has SASL and this listener has not: correct it, or the port in bootstrap.servers"),
        (35, [], "the broker answers sasl.mechanism PLAIN with UNSUPPORTED_VERSION"),
    ],
)
def test_what_a_handshake_refuses(code: int, mechanisms: list[str], said: str) -> None:
    login = begin(PLAIN)
    login.start()
    with pytest.raises(AuthenticationError) as caught:
        login.take(SaslHandshakeResponse(error_code=code, mechanisms=mechanisms))
    assert str(caught.value).startswith(f"{OWNER}: {PLACE}: {said}")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "Authentication failed: Invalid username or password",
            "(Authentication failed: Invalid username or password)",
        ),
        (None, "(SASL_AUTHENTICATION_FAILED (58))"),
        ("user alice gave hush-hush", "(SASL_AUTHENTICATION_FAILED (58))"),
        ("a\nb\x1b[31m" + "x" * 500, "(a\\nb\\x1b[31m" + "x" * 189 + "...)"),
    ],
)
def test_a_wrong_password_is_told_without_it(message: str | None, said: str) -> None:
    for settings in (PLAIN, SCRAM):
        login = begin(settings)
        login.start()
        login.take(HANDSHAKE)
        with pytest.raises(AuthenticationError) as caught:
            login.take(answer(code=58, message=message))
        assert f"{OWNER}: {PLACE}: the broker refuses user 'alice' {said}: check username and password in" in str(
            caught.value
        )
        assert "hush" not in str(caught.value)


def test_settings_that_lack_something_are_told_when_it_is_too_late_for_check() -> None:
    with pytest.raises(AuthenticationError, match=f"{OWNER}: {PLACE}: sasl.jaas.config: expected a login for GSSAPI"):
        begin({})


def test_a_keytab_that_is_missing_or_a_library_that_is() -> None:
    jaas = f'{KERBEROS_MODULE} required useKeyTab=true keyTab="/no/such" principal="p@R" serviceName=kafka;'
    lacks = r"the keytab /no/such is not there|install .* sparkmirror\[kerberos\]"
    login = begin({"sasl.jaas.config": jaas})
    with pytest.raises(AuthenticationError, match=lacks):
        login.start()
    security = Security.of({"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}, OWNER)
    with pytest.raises(ConfigError, match=f"{OWNER}: .*({lacks})"):
        require_login(security)


def test_a_broker_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_end(_login: PasswordLogin) -> Conversation:
        while True:
            yield b"more"

    monkeypatch.setattr(plain, "converse", without_end)
    login = begin(PLAIN)
    login.start()
    login.take(HANDSHAKE)
    with pytest.raises(ProtocolError, match=f"{PLACE} does not come to an end with PLAIN"):
        for _ in range(MOST_ROUNDS):
            login.take(answer(b"x"))


@given(st.sampled_from([PLAIN, SCRAM, TOKEN]), st.lists(st.binary(max_size=40), min_size=1, max_size=4))
def test_whatever_a_broker_says_no_secret_is_told(settings: Mapping[str, str], answers: list[bytes]) -> None:
    login = begin(settings)
    login.start()
    request = login.take(HANDSHAKE)
    try:
        for data in answers:
            if request is not None:
                request = login.take(answer(data))
    except (AuthenticationError, ProtocolError) as error:
        assert "hush" not in str(error)
        assert PLACE in str(error)


def test_a_session_is_renewed_between_85_and_95_percent_and_never_within_a_second() -> None:
    assert plan_renewal(100.0, 0.0) == 85.0
    assert plan_renewal(100.0, 1.0) == 95.0
    assert plan_renewal(0.5, 0.5) > 1.0
