"""Asks an endpoint for a token: by client id and secret (RFC 6749, section 4.4) or by a signed statement (RFC 7523)."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

from sparkmirror.config.logins import URL_KEY, TokenLogin
from sparkmirror.errors import AuthenticationError, ConfigError
from sparkmirror.net.attempts import grow
from sparkmirror.net.deadline import time_left
from sparkmirror.net.security import Security

MOST_BYTES = 1 << 20
_WORTH_A_RETRY = {408, 425, 429, 500, 502, 503, 504}
_BEARER_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_BY_SECRET = (
    "sasl.oauthbearer.client.credentials.* and sasl.oauthbearer.scope (or clientId, clientSecret and scope in "
    "sasl.jaas.config)"
)
_BY_ASSERTION = "sasl.oauthbearer.assertion.* and sasl.oauthbearer.scope, and that the clock of this machine is right"
_ERROR_WORD = re.compile(r"[a-z_]{1,40}")


class _AwayError(Exception):
    """It may answer later."""


def ask_endpoint(login: TokenLogin) -> tuple[str, float | None]:
    """The token, and how many seconds it lasts if the endpoint says so. Tried as long as `sasl.login.retry.*` say."""
    rule = login.refreshing
    until = time.monotonic() + rule.retry_max_s
    failures = 0
    while True:
        try:
            return _ask(login)
        except _AwayError as error:
            pause_s = grow(rule.retry_s, rule.retry_max_s, failures)
            failures += 1
            if time.monotonic() + pause_s > until:
                said = f"the token endpoint {_shown(login)} {error}"
                raise AuthenticationError(
                    f"{URL_KEY}: {said}: see that it is well and can be reached from here"
                ) from None
            time.sleep(time_left(pause_s))


def _ask(login: TokenLogin) -> tuple[str, float | None]:
    try:
        status, body = _post(login)
    except ssl.SSLError as error:
        raise AuthenticationError(
            f"{URL_KEY}: no TLS with {_shown(login)}: {error.reason}: its certificate must be known to this machine, "
            "or to ssl.truststore.* in sasl.jaas.config"
        ) from None
    except TimeoutError:
        raise _AwayError(
            "does not answer in time (sasl.login.connect.timeout.ms, sasl.login.read.timeout.ms)"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise _AwayError(f"does not answer: {getattr(error, 'strerror', None) or type(error).__name__}") from None
    if status in _WORTH_A_RETRY:
        raise _AwayError(f"answers with status {status}")
    if status not in (200, 201):
        raise AuthenticationError(
            f"{URL_KEY}: the token endpoint {_shown(login)} refuses with status {status}{_said(body)}: check "
            f"{_BY_ASSERTION if login.assertion else _BY_SECRET}"
        )
    return _read_answer(login, body)


def _post(login: TokenLogin) -> tuple[int, bytes]:
    url = urllib.parse.urlsplit(login.endpoint)
    timeout_s = time_left(login.refreshing.connect_timeout_s)
    form = _form(login)
    connection: http.client.HTTPConnection
    if url.scheme == "https":
        connection = http.client.HTTPSConnection(
            url.hostname or "", url.port, timeout=timeout_s, context=_context(login)
        )
    else:
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=timeout_s)
    answers_within_s = time_left(login.refreshing.read_timeout_s)
    has_hung_up = threading.Event()
    hurry = threading.Timer(answers_within_s, _hang_up, (connection, has_hung_up))
    try:
        connection.connect()
        connection.sock.settimeout(answers_within_s)
        hurry.start()
        path = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        if login.assertion is None:
            headers["Authorization"] = f"Basic {_credentials(login)}"
        connection.request("POST", path, urllib.parse.urlencode(form), headers)
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_BYTES)
    except (OSError, http.client.HTTPException):
        if has_hung_up.is_set():
            raise TimeoutError from None
        raise
    finally:
        hurry.cancel()
        connection.close()


def _hang_up(connection: http.client.HTTPConnection, has_hung_up: threading.Event) -> None:
    """On who sends a byte now and then: each of them comes in time, and all others wait for the lock."""
    has_hung_up.set()
    with contextlib.suppress(OSError, AttributeError):
        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)  # under TLS, which who reads still needs


def _form(login: TokenLogin) -> dict[str, str]:
    form = {"grant_type": _BEARER_GRANT if login.is_bearer else "client_credentials"}
    if login.scope:
        form["scope"] = login.scope
    if login.assertion is None:
        return form
    from sparkmirror.net.sasl.assertions import make_assertion  # noqa: PLC0415 - only who needs it loads it

    signed = make_assertion(login.assertion, time.time())
    if login.is_bearer:
        return form | {"assertion": signed}
    who = {"client_id": login.client_id} if login.client_id else {}
    return form | who | {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": signed}


def _context(login: TokenLogin) -> ssl.SSLContext:
    if not login.ssl:
        return ssl.create_default_context()
    from sparkmirror.net.tls.context import context_of  # noqa: PLC0415 - only who needs it loads it

    try:
        return context_of(Security.of({"security.protocol": "SSL", **dict(login.ssl)}, "sasl.jaas.config"))
    except ConfigError as error:
        raise AuthenticationError(str(error)) from None


def _credentials(login: TokenLogin) -> str:
    pair = (login.client_id, login.client_secret)
    if login.urlencode:
        pair = (urllib.parse.quote_plus(pair[0]), urllib.parse.quote_plus(pair[1]))
    return base64.b64encode(":".join(pair).encode()).decode()


def _read_answer(login: TokenLogin, body: bytes) -> tuple[str, float | None]:
    try:
        answer = json.loads(body)
        token = answer.get("access_token") or answer.get("id_token")
        life_s = answer.get("expires_in")
        if not isinstance(token, str) or not token:
            raise ValueError
        return token, float(life_s) if isinstance(life_s, int | float) and 0 < life_s < 1e9 else None
    except (ValueError, AttributeError, RecursionError):
        raise AuthenticationError(
            f"{URL_KEY}: {_shown(login)} answers without access_token: is it a token endpoint?"
        ) from None


def _said(body: bytes) -> str:
    """The endpoint's own word for it, if it is one."""
    try:
        word = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if _ERROR_WORD.fullmatch(word) else ""


def _shown(login: TokenLogin) -> str:
    """Without what may be secret in it."""
    url = urllib.parse.urlsplit(login.endpoint)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
