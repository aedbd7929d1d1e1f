"""Tokens from files, endpoints and nobody: when they are fetched, and what is said when there is none."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.logins import Refreshing, TokenLogin
from sparkmirror.errors import AuthenticationError
from sparkmirror.net.sasl.tokens import TokenKeeper, make_unsecured, plan_refresh, read_end, take_token
from tests.support.certificates import Authority
from tests.support.kafka_client import await_condition
from tests.support.token_endpoint import SECRET, TokenEndpoint

QUICK = Refreshing(retry_s=0.01, retry_max_s=0.05, connect_timeout_s=2, read_timeout_s=0.5)


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as started:
        yield started


def login(of: TokenEndpoint, **more: object) -> TokenLogin:
    known = TokenLogin(endpoint=of.url, client_id="mirror", client_secret=SECRET, scope="s", refreshing=QUICK)
    return replace(known, **more)  # type: ignore[arg-type]


def refused(asked: TokenLogin) -> str:
    with pytest.raises(AuthenticationError) as caught:
        TokenKeeper(asked).take(may_wait=True)
    said = str(caught.value)
    assert said.startswith("sasl.oauthbearer.token.endpoint.url: ")
    assert SECRET not in said and base64.b64encode(SECRET.encode()).decode()[:8] not in said
    return said


def test_an_unsecured_token_is_as_kafka_makes_it() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "me",
        "unsecuredLoginNumberClaim_n": "2",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    made = make_unsecured(options, 1000.0)
    header, payload, signature = made.text.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims == {"iat": 1000, "exp": 1060, "sub": "me", "n": 2, "scope": ["a", "b"]}
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert (signature, made.ends_at, read_end(made.text)) == ("", 1060, 1060)
    assert made.text not in repr(made)


def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    known = TokenLogin(file=str(file))
    for life_s in (60, 120):
        text = make_unsecured({"unsecuredLoginLifetimeSeconds": str(life_s)}, time.time()).text
        file.write_text(text + "\n")
        assert take_token(known, may_wait=False).text == text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "can't read"),
        ("", "holds no token: expected one line"),
        ("a\x01b", "holds no token: expected one line"),
        (make_unsecured({}, time.time() - 7200).text, r"ended [3-9]\d\d\d s ago: have a new one written there"),
    ],
)
def test_a_file_without_a_good_token_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(AuthenticationError, match=said) as caught:
        take_token(TokenLogin(file=str(file)), may_wait=True)
    assert str(file) in str(caught.value)


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda b: f"a.{base64.urlsafe_b64encode(b).decode()}.c"))
def test_whatever_a_token_holds_its_end_is_a_time_or_unknown(text: str) -> None:
    end = read_end(text)
    assert end is None or math.isfinite(end)


def test_hostile_payloads_have_no_end() -> None:
    for payload in (b'{"exp": 1e999}', b'{"exp": null}', b"[" * 50_000, b'{"exp": []}', b"\xff", b'{"exp": "x"}'):
        assert read_end(f"a.{base64.urlsafe_b64encode(payload).decode()}.c") is None


@pytest.mark.parametrize(
    ("life_s", "dice", "expected_s"),
    [
        (3600, 0.0, 2880),  # 80 %
        (3600, 1.0, 3060),  # and 5 % more
        (1000, 0.0, 700),  # five minutes before its end
        (365, 1.0, 65),
        (300, 0.0, 240),  # too short for either bound
        (8, 1.0, 4),  # while there is time to use it
        (4, 1.0, 1),
    ],
)
def test_the_refresh_is_planned_as_kafka_does(life_s: float, dice: float, expected_s: float) -> None:
    assert plan_refresh(5000.0, 5000.0 + life_s, Refreshing(), dice) == pytest.approx(5000 + expected_s)


def test_the_endpoint_is_asked_as_the_rfc_has_it_and_once(endpoint: TokenEndpoint) -> None:
    keeper = TokenKeeper(login(endpoint))
    assert {keeper.take(may_wait=True).text for _ in range(5)} == {endpoint.given[0]}
    (asked,) = endpoint.asked
    assert asked.form == {"grant_type": ["client_credentials"], "scope": ["s"]}
    assert asked.credentials == f"mirror:{SECRET}"
    odd = login(endpoint, client_id="a:b", client_secret="c d+", urlencode=True)
    with pytest.raises(AuthenticationError):
        TokenKeeper(odd).take(may_wait=True)
    assert endpoint.asked[-1].credentials == "a%3Ab:c+d%2B"


def test_many_threads_ask_once(endpoint: TokenEndpoint) -> None:
    keeper = TokenKeeper(login(endpoint))
    threads = [threading.Thread(target=lambda: keeper.take(may_wait=True)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(endpoint.asked) == 1


def test_a_token_is_fetched_anew_before_it_ends_and_only_while_it_is_used(endpoint: TokenEndpoint) -> None:
    endpoint.life_s = 4.0
    asked = login(endpoint, refreshing=replace(QUICK, window_factor=0.1, window_jitter=0.0))
    keeper = TokenKeeper(asked)
    first = keeper.take(may_wait=True)
    await_condition(lambda: keeper.take(may_wait=False).text != first.text, "another token", 3)
    assert endpoint.await_asked(3, 3.0)  # it was used
    assert not endpoint.await_asked(4, 1.0)  # it was not


def test_an_endpoint_that_is_away_for_a_while_is_not_noticed(
    endpoint: TokenEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.life_s = 30.0
    rule = replace(QUICK, window_factor=0.01, window_jitter=0.0)
    keeper = TokenKeeper(login(endpoint, refreshing=rule))
    first = keeper.take(may_wait=True)
    endpoint.status = 503
    await_condition(lambda: "the token at hand is used until it ends" in caplog.text, "a warning", 5)
    assert keeper.take(may_wait=False).text == first.text
    endpoint.status = 200
    await_condition(lambda: keeper.take(may_wait=False).text != first.text, "another token", 5)
    assert SECRET not in caplog.text


def test_without_a_token_the_loop_is_not_held_up(endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = TokenKeeper(login(endpoint))
    keeper.take(may_wait=True)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 7200)
    with pytest.raises(AuthenticationError, match="the token has ended, and the endpoint gave no new one in time"):
        keeper.take(may_wait=False)
    assert len(endpoint.asked) == 1


def test_each_refusal_is_told_apart(endpoint: TokenEndpoint) -> None:
    assert "refuses with status 401 (invalid_client): check sasl.oauthbearer.client.credentials.*" in refused(
        login(endpoint, client_secret="wrong")
    )
    endpoint.status = 503
    said = refused(login(endpoint))
    assert "answers with status 503: see that it is well" in said and len(endpoint.asked) > 2
    endpoint.status, endpoint.body = 200, b"<html>"
    assert "answers without access_token: is it a token endpoint?" in refused(login(endpoint))
    endpoint.body = json.dumps({"access_token": "a b"}).encode()
    assert "holds no token" in refused(login(endpoint))
    endpoint.body = json.dumps({"access_token": make_unsecured({}, time.time() - 7200).text}).encode()
    assert "gave a token that has ended: see that the clock of this machine is right" in refused(login(endpoint))
    endpoint.body, endpoint.delay_s = None, 0.7
    assert "does not answer in time (sasl.login.connect.timeout.ms" in refused(login(endpoint))


def test_an_endpoint_that_refuses_is_asked_once_for_all_who_wait(endpoint: TokenEndpoint) -> None:
    keeper = TokenKeeper(login(endpoint, client_secret="wrong", refreshing=replace(QUICK, retry_max_s=60.0)))
    for _ in range(5):
        with pytest.raises(AuthenticationError, match="refuses with status 401"):
            keeper.take(may_wait=True)
    assert len(endpoint.asked) == 1


def test_a_dead_endpoint_and_one_without_tls(endpoint: TokenEndpoint) -> None:
    assert "no TLS with https://127.0.0.1" in refused(login(endpoint, endpoint=endpoint.url.replace("http:", "https:")))
    endpoint.stop()
    with_user = endpoint.url.replace("http://", f"http://me:{SECRET}@")
    assert "does not answer: Connection refused: see that it is well" in refused(login(endpoint, endpoint=with_user))


def test_an_endpoint_that_drips_is_hung_up_on() -> None:
    """Each byte comes in time, and everybody who wants the token waits for the lock."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            taken, _ = server.accept()
            with taken, contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 1000:
                    taken.sendall(bytes((byte,)))
                    time.sleep(0.05)

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        rule = Refreshing(connect_timeout_s=5.0, read_timeout_s=0.5, retry_s=0.01, retry_max_s=0.1)
        asked = TokenLogin(endpoint=f"http://127.0.0.1:{server.getsockname()[1]}/token", refreshing=rule)
        began = time.monotonic()
        assert "does not answer" in refused(asked)
        assert time.monotonic() - began < 10
        dripping.join(10)


def test_an_endpoint_with_tls_is_trusted_by_the_store_of_the_login(tmp_path: Path) -> None:
    ca = Authority()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca.issue().write_pem(tmp_path / "endpoint.pem"))
    store = (("ssl.truststore.location", str(ca.write_pem(tmp_path / "ca.pem"))),)
    with TokenEndpoint(tls=context) as secure:
        assert TokenKeeper(login(secure, ssl=store)).take(may_wait=True).text == secure.given[0]
        assert "CERTIFICATE_VERIFY_FAILED: its certificate must be known" in refused(login(secure))
        missing = (("ssl.truststore.location", "/no/such"),)
        with pytest.raises(AuthenticationError, match=r"sasl\.jaas\.config: .*/no/such"):
            TokenKeeper(login(secure, ssl=missing)).take(may_wait=True)


def test_an_opaque_token_ends_when_the_endpoint_says(endpoint: TokenEndpoint) -> None:
    endpoint.body = json.dumps({"access_token": "opaque", "expires_in": 100}).encode()
    token = TokenKeeper(login(endpoint)).take(may_wait=True)
    assert token.ends_at == pytest.approx(time.time() + 100, abs=5)
