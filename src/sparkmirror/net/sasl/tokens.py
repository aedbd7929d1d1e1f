"""Bearer tokens: read from a file, fetched from an endpoint, or made up for development.

What an endpoint gave is kept for the process, and fetched anew before it ends by a timer of its own, so that the copy's
loop finds a good token whenever it needs one. A file is read each time: whoever writes it keeps it fresh.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import logging
import math
import random
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparkmirror.config.logins import URL_KEY, Refreshing, TokenLogin
from sparkmirror.errors import AuthenticationError
from sparkmirror.net.sasl.token_endpoint import ask_endpoint

MOST_BYTES = 256 << 10
SPARE_S = 2.0  # on its way to the broker a token must not end
EARLY_S = 2 * SPARE_S  # so that the next one is there before
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_DEFAULT_LIFE_S = 3600.0
_UNREADABLE = (binascii.Error, ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError)

log = logging.getLogger("sparkmirror")


@dataclass(frozen=True, slots=True)
class Token:
    """`ends_at`: by the wall clock, None where the token does not say."""

    text: str = field(repr=False)
    ends_at: float | None

    def is_good(self, now: float) -> bool:
        return self.ends_at is None or now + SPARE_S < self.ends_at


def take_token(login: TokenLogin, *, may_wait: bool) -> Token:
    """A token that is good now; AuthenticationError says why there is none. Not `may_wait`: nobody is asked for it."""
    if login.claims:
        return make_unsecured(dict(login.claims), time.time())
    if login.file:
        return read_token_file(login.file, time.time())
    return _keeper(login).take(may_wait=may_wait)


def read_token_file(file: str, now: float) -> Token:
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(MOST_BYTES)
    except OSError as error:
        raise AuthenticationError(
            f"{URL_KEY}: can't read {file}: {error.strerror}; expected a file with a token"
        ) from None
    token = read_token(content.decode("latin-1").strip(), f"the file {file}")
    if token.ends_at is not None and now >= token.ends_at:
        raise AuthenticationError(
            f"{URL_KEY}: the token in {file} ended {now - token.ends_at:.0f} s ago: have a new one written there, "
            "and see that the clock of this machine is right"
        )
    return token


def read_token(text: str, origin: str, life_s: float | None = None) -> Token:
    """`life_s`: what stands beside the token, for one that does not tell by itself."""
    if not _TOKEN.fullmatch(text):
        raise AuthenticationError(f"{URL_KEY}: {origin} holds no token: expected one line of base64 and dots")
    ends_at = read_end(text)
    if ends_at is None and life_s is not None:
        ends_at = time.time() + life_s
    return Token(text, ends_at)


def read_end(token: str) -> float | None:
    """`exp` of a JWT."""
    try:
        ends_at = float(_read_claim(token, "exp"))
    except _UNREADABLE:
        return None
    return ends_at if math.isfinite(ends_at) else None


def read_subject(token: str) -> str:
    """`sub` of a JWT: who it is for; empty where it does not say."""
    try:
        return str(_read_claim(token, "sub"))
    except _UNREADABLE:
        return ""


def _read_claim(token: str, name: str) -> Any:
    """The signature is the broker's to check."""
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))[name]


def make_unsecured(options: dict[str, str], now: float) -> Token:
    """As Kafka's OAuthBearerUnsecuredLoginCallbackHandler makes it: signed by nobody, for development."""
    life_s = float(options.get("unsecuredLoginLifetimeSeconds", _DEFAULT_LIFE_S))
    claims: dict[str, object] = {"iat": round(now, 3), "exp": round(now + life_s, 3)}
    for option, value in options.items():
        kind, _, name = option.partition("_")
        if kind == "unsecuredLoginStringClaim":
            claims[name] = value
        elif kind == "unsecuredLoginNumberClaim":
            claims[name] = float(value)
        elif kind == "unsecuredLoginListClaim" and value:  # its first character parts the others
            claims[name] = value[1:].split(value[0])
    return Token(f"{_encode({'alg': 'none'})}.{_encode(claims)}.", now + life_s)


def _encode(part: dict[str, object] | dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).decode().rstrip("=")


def plan_refresh(now: float, ends_at: float, rule: Refreshing, dice: float) -> float:
    """When to fetch the next one, as Kafka's ExpiringCredentialRefreshingLogin plans it; `dice`: 0 to 1."""
    life_s = ends_at - now
    at = now + life_s * min(1.0, rule.window_factor + rule.window_jitter * dice)
    if rule.min_period_s + rule.buffer_s < life_s:
        at = max(min(at, ends_at - rule.buffer_s), now + rule.min_period_s)
    return min(at, max(ends_at - EARLY_S, now + life_s / 4))


class TokenKeeper:
    """One login's token, for all threads of the process."""

    def __init__(self, login: TokenLogin) -> None:
        self._login = login
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._was_used = False
        self._refused: tuple[float, str] = (-math.inf, "")  # until when nobody asks again, and why

    def take(self, *, may_wait: bool) -> Token:
        token = self._token
        self._was_used = True
        if token is not None and token.is_good(time.time()):
            return token
        if not may_wait:
            raise AuthenticationError(f"{URL_KEY}: the token has ended, and the endpoint gave no new one in time")
        with self._lock:
            if self._token is None or not self._token.is_good(time.time()):
                self._fetch_unless_refused()
            assert self._token is not None
            return self._token

    def _fetch_unless_refused(self) -> None:
        """Many connections may want it at once, and wait for one answer only."""
        until, said = self._refused
        if time.monotonic() < until:
            raise AuthenticationError(said)
        try:
            self._fetch()
        except AuthenticationError as error:
            self._refused = (time.monotonic() + self._login.refreshing.retry_max_s, str(error))
            raise

    def _fetch(self) -> None:
        text, life_s = ask_endpoint(self._login)
        token = read_token(text, "the answer of the token endpoint", life_s)
        now = time.time()
        if not token.is_good(now):
            raise AuthenticationError(
                f"{URL_KEY}: the endpoint gave a token that has ended: see that the clock of this machine is right"
            )
        self._token = token
        if token.ends_at is not None:
            at = plan_refresh(now, token.ends_at, self._login.refreshing, random.random())
            self._call_at(at, token)

    def _call_at(self, at: float, token: Token) -> None:
        timer = threading.Timer(max(0.0, at - time.time()), self._refresh, (token,))
        timer.daemon = True
        timer.start()

    def _refresh(self, token: Token) -> None:
        """Fetch the next one if somebody still uses this. An endpoint that is away is asked again while it lasts."""
        if not self._was_used:
            return
        self._was_used = False
        try:
            with self._lock:
                if self._token is token:
                    self._fetch()
        except Exception as error:  # whatever it is: nobody else asks for the next one in time
            is_known = isinstance(error, AuthenticationError)
            log.warning("%s; the token at hand is used until it ends", error, exc_info=None if is_known else error)
            self._was_used = True
            again = time.time() + max(1.0, self._login.refreshing.retry_max_s)
            if token.is_good(again):
                self._call_at(again, token)


@functools.cache
def _keeper(login: TokenLogin) -> TokenKeeper:
    return TokenKeeper(login)
