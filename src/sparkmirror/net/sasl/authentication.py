"""One authentication of a connection: SaslHandshake names the mechanism, SaslAuthenticate carries its messages.

Without sockets: it says which request goes next and is told the answer. On a connection whose session nears its end the
same goes on between other requests (KIP-368), and nothing else may be sent before it is done.
"""

from __future__ import annotations

import functools
import math
import random
from typing import Any

from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest, SaslHandshakeResponse

from sparkmirror.config.logins import GSSAPI, OAUTHBEARER, KerberosLogin, Login, TokenLogin, read_login
from sparkmirror.errors import AuthenticationError, ConfigError, ProtocolError
from sparkmirror.net.sasl import kerberos, krb5, oauthbearer, plain, scram
from sparkmirror.net.sasl.plain import Conversation
from sparkmirror.net.sasl.tokens import take_token
from sparkmirror.net.security import Security
from sparkmirror.protocol import codes
from sparkmirror.shown import shown

MOST_ROUNDS = 16  # Kerberos takes three, all others fewer
SHORTEST_SESSION_S = 1.1  # a broker takes no second authentication within a second
_SAID_CHARACTERS = 200
_MOST_MECHANISMS = 20  # that an error names


class Authentication:
    """`where`: host and port, for messages. Not `may_wait`: nobody but the broker is asked for anything."""

    def __init__(self, security: Security, host: str, where: str, *, may_wait: bool = True) -> None:
        self.renew_after_s = math.inf  # once it is done: the broker's session has an end then
        self._where, self._owner = where, security.owner
        self._rounds = 0
        try:
            self._login = _read_login(security)
        except ValueError as error:
            raise self._error(str(error)) from None
        self._conversation = self._begin(host, may_wait)

    def start(self) -> Any:
        """The first request. What it takes to say who we are is at hand then."""
        self._first = self._go_on(None)
        return SaslHandshakeRequest(mechanism=self._login.mechanism)

    def take(self, response: Any) -> Any:
        """The next request; None when it is done."""
        if isinstance(response, SaslHandshakeResponse):
            self._check_handshake(response)
            return SaslAuthenticateRequest(auth_bytes=self._first)
        if response.error_code:
            raise self._refusal(response.error_code, response.error_message)
        message = self._go_on(bytes(response.auth_bytes))
        if message is not None:
            return SaslAuthenticateRequest(auth_bytes=message)
        if response.session_lifetime_ms and response.session_lifetime_ms > 0:
            self.renew_after_s = plan_renewal(response.session_lifetime_ms / 1000, random.random())
        return None

    def _begin(self, host: str, may_wait: bool) -> Conversation:
        login = self._login
        if isinstance(login, KerberosLogin):
            return kerberos.converse(login, host, may_wait=may_wait)
        if isinstance(login, TokenLogin):
            return _with_token(login, may_wait)
        return scram.converse(login) if login.mechanism in scram.HASHES else plain.converse(login)

    def _go_on(self, answer: bytes | None) -> bytes | None:
        """Our next message of the mechanism; None at its end."""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise ProtocolError(f"{self._where} does not come to an end with {self._login.mechanism}")
        try:
            return next(self._conversation) if answer is None else self._conversation.send(answer)
        except StopIteration:
            return None
        except AuthenticationError as error:
            raise self._error(str(error)) from error
        except ProtocolError as error:
            raise ProtocolError(f"{self._where} sent {error}") from error

    def _check_handshake(self, response: SaslHandshakeResponse) -> None:
        code, mechanism = response.error_code, self._login.mechanism
        if code == codes.UNSUPPORTED_SASL_MECHANISM:
            enabled = ", ".join(map(_shown, response.mechanisms[:_MOST_MECHANISMS])) or "none"
            raise self._error(f"sasl.mechanism {mechanism} is not enabled there, only {enabled}: expected one of these")
        if code == codes.ILLEGAL_SASL_STATE:
            raise self._error(
                "security.protocol has SASL and this listener has not: correct it, or the port in bootstrap.servers"
            )
        if code:
            raise self._error(f"the broker answers sasl.mechanism {mechanism} with {codes.name_of(code)}")

    def _refusal(self, code: int, message: str | None) -> AuthenticationError:
        said = _shown(message) if message and not _tells(message, self._login) else codes.name_of(code)
        return self._error(
            f"the broker refuses {_who(self._login)} ({said}): {_CURES.get(self._login.mechanism, _CURE)}"
        )

    def _error(self, said: str) -> AuthenticationError:
        return AuthenticationError(f"{self._owner}: {self._where}: {said}" if self._owner else f"{self._where}: {said}")


def require_login(security: Security) -> None:
    """ConfigError where this machine lacks what the login takes."""
    login = _read_login(security)
    try:
        if isinstance(login, KerberosLogin):
            krb5.require_means(login)
    except AuthenticationError as error:
        raise ConfigError(f"{security.owner}: {error}") from None


_CURE = "check username and password in sasl.jaas.config, and that the brokers know the user for this sasl.mechanism"
_CURES = {
    OAUTHBEARER: "see that the token is for these brokers and has not ended, and that all clocks are right",
    GSSAPI: "see that the clocks of this machine, the brokers and the KDC are right, and that "
    "sasl.kerberos.service.name is the brokers'; their log may say more",
}


def plan_renewal(session_s: float, dice: float) -> float:
    """Seconds from now, as Kafka's own clients do: between 85 and 95 % of the session. `dice`: 0 to 1."""
    return max(SHORTEST_SESSION_S, session_s * (0.85 + 0.1 * dice))


@functools.cache
def _read_login(security: Security) -> Login:
    return read_login(dict(security.settings))


def _with_token(login: TokenLogin, may_wait: bool) -> Conversation:
    token = take_token(login, may_wait=may_wait)
    yield from oauthbearer.converse(token.text, login.extensions)


def _who(login: Login) -> str:
    if isinstance(login, KerberosLogin):
        return f"principal {login.principal}" if login.principal else "our ticket"
    return "our token" if isinstance(login, TokenLogin) else f"user {login.username!r}"


def _tells(message: str, login: Login) -> bool:
    """Whether a broker gives our secret back, which no log shall have."""
    return not isinstance(login, TokenLogin | KerberosLogin) and login.password in message


def _shown(text: str) -> str:
    """What a broker says, in one line."""
    return shown(text.strip(), _SAID_CHARACTERS)
