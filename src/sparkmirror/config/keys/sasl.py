"""`sasl.*` keys of clients. The brokers' own, by which these judge tokens, are told to clients in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkmirror.config import values as v
from sparkmirror.config.assertions import (
    ALGORITHM_KEY,
    ALGORITHMS,
    FILE_KEY,
    KEY_FILE_KEY,
    PASSPHRASE_KEY,
    TEMPLATE_KEY,
)
from sparkmirror.config.jaas import jaas_text
from sparkmirror.config.keys.key import Key, Reader, State
from sparkmirror.config.logins import (
    ASSERTION_RETRIEVER,
    ENDPOINT_RETRIEVER,
    FILE_RETRIEVER,
    JAAS_KEY,
    MECHANISMS,
    RETRIEVER_KEY,
    URL_KEY,
)

_JAVA = "a Java class can't run here"
_KNOWN_TOKENS = "a token comes from a file, by client credentials or for an assertion"
_RETRIEVERS = ("DefaultJwtRetriever", FILE_RETRIEVER, ENDPOINT_RETRIEVER, ASSERTION_RETRIEVER)
_TICKETS = "new tickets are taken from the keytab before the last ones end, at 80 % of their life"
_BROKERS = "a token is the broker's to judge"

_NUMBER = v.integer(0, v.LONG_MAX)
_Parse = Callable[[str], object]

_IN_FORCE: tuple[tuple[str, _Parse], ...] = (
    ("sasl.mechanism", v.one_of(*MECHANISMS)),
    (JAAS_KEY, jaas_text),
    ("sasl.kerberos.service.name", v.text),
    (URL_KEY, v.text),
    (RETRIEVER_KEY, v.refused(_KNOWN_TOKENS, *_RETRIEVERS)),
    ("sasl.oauthbearer.client.credentials.client.id", v.text),
    ("sasl.oauthbearer.client.credentials.client.secret", v.text),
    ("sasl.oauthbearer.scope", v.text),
    ("sasl.oauthbearer.header.urlencode", v.boolean),
    (FILE_KEY, v.text),
    (KEY_FILE_KEY, v.text),
    (PASSPHRASE_KEY, v.text),
    (TEMPLATE_KEY, v.text),
    (ALGORITHM_KEY, lambda value: v.one_of(*ALGORITHMS)(value.upper())),
    ("sasl.oauthbearer.assertion.claim.aud", v.text),
    ("sasl.oauthbearer.assertion.claim.iss", v.text),
    ("sasl.oauthbearer.assertion.claim.sub", v.text),
    ("sasl.oauthbearer.assertion.claim.exp.seconds", v.integer(0, 86_400)),
    ("sasl.oauthbearer.assertion.claim.nbf.seconds", v.integer(0, 3_600)),
    ("sasl.oauthbearer.assertion.claim.jti.include", v.boolean),
    ("sasl.login.connect.timeout.ms", v.integer(1, v.INT_MAX)),
    ("sasl.login.read.timeout.ms", v.integer(1, v.INT_MAX)),
    ("sasl.login.refresh.buffer.seconds", _NUMBER),
    ("sasl.login.refresh.min.period.seconds", _NUMBER),
    ("sasl.login.refresh.window.factor", v.share),
    ("sasl.login.refresh.window.jitter", v.share),
    ("sasl.login.retry.backoff.ms", _NUMBER),
    ("sasl.login.retry.backoff.max.ms", _NUMBER),
)
_BETTER: tuple[tuple[str, str, _Parse], ...] = (
    (_TICKETS, "sasl.kerberos.kinit.cmd", v.text),
    (_TICKETS, "sasl.kerberos.min.time.before.relogin", _NUMBER),
    (_TICKETS, "sasl.kerberos.ticket.renew.jitter", v.share),
    (_TICKETS, "sasl.kerberos.ticket.renew.window.factor", v.share),
    (_BROKERS, "sasl.oauthbearer.clock.skew.seconds", _NUMBER),
    (_BROKERS, "sasl.oauthbearer.expected.audience", v.text),
    (_BROKERS, "sasl.oauthbearer.expected.issuer", v.text),
    (_BROKERS, "sasl.oauthbearer.jwks.endpoint.refresh.ms", _NUMBER),
    (_BROKERS, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", _NUMBER),
    (_BROKERS, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", _NUMBER),
    (_BROKERS, "sasl.oauthbearer.jwks.endpoint.url", v.text),
    (_BROKERS, "sasl.oauthbearer.scope.claim.name", v.text),
    (_BROKERS, "sasl.oauthbearer.sub.claim.name", v.text),
)
_IMPOSSIBLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sasl.client.callback.handler.class", ("SaslClientCallbackHandler", "OAuthBearerSaslClientCallbackHandler")),
    (
        "sasl.login.callback.handler.class",
        ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler"),
    ),
    ("sasl.login.class", ("DefaultLogin", "KerberosLogin", "OAuthBearerRefreshingLogin")),
    ("sasl.oauthbearer.jwt.validator.class", ("DefaultJwtValidator", "ClientJwtValidator")),
)


def sasl_keys(readers: tuple[Reader, ...]) -> Iterator[Key[object]]:
    def key(name: str, parse: _Parse, state: State, why: str = "") -> Key[object]:
        return Key(name=name, parse=v.optional(parse), default="", readers=readers, state=state, why=why)

    for name, parse in _IN_FORCE:
        yield key(name, parse, State.IN_FORCE)
    for why, name, parse in _BETTER:
        yield key(name, parse, State.BETTER, why)
    for name, harmless in _IMPOSSIBLE:
        yield key(name, v.refused(_JAVA, *harmless), State.IMPOSSIBLE, _JAVA)
