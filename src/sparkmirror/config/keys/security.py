"""Keys that every client of a cluster inherits, besides its addresses: `security.protocol`, `ssl.*` and `sasl.*`."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader

ROLES = {
    "source_consumer": Reader.SOURCE_CONSUMER_SECURITY,
    "source_producer": Reader.SOURCE_PRODUCER_SECURITY,
    "source_admin": Reader.SOURCE_ADMIN_SECURITY,
    "target_consumer": Reader.TARGET_CONSUMER_SECURITY,
    "target_producer": Reader.DATA_PRODUCER_SECURITY,
    "target_admin": Reader.TARGET_ADMIN_SECURITY,
}

_TEXTS = [
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.key.password",
    "ssl.keymanager.algorithm",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "sasl.mechanism",
    "sasl.jaas.config",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.service.name",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.template.file",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
]
_SWITCHES = ["sasl.oauthbearer.assertion.claim.jti.include", "sasl.oauthbearer.header.urlencode"]
_NUMBERS = [
    "sasl.kerberos.min.time.before.relogin",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.retry.backoff.ms",
    "sasl.login.retry.backoff.max.ms",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
]
_SHARES = [
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
]

_READERS = tuple(ROLES.values())
SECURITY: tuple[Key[object], ...] = (
    Key(name="security.protocol", parse=v.optional(v.security_protocol), default="", readers=_READERS),
    *(Key(name=name, parse=v.optional(v.text), default="", readers=_READERS) for name in _TEXTS),
    *(Key(name=name, parse=v.optional(v.boolean), default="", readers=_READERS) for name in _SWITCHES),
    *(Key(name=name, parse=v.optional(v.integer(0, v.LONG_MAX)), default="", readers=_READERS) for name in _NUMBERS),
    *(Key(name=name, parse=v.optional(v.share), default="", readers=_READERS) for name in _SHARES),
)

_SECRET_WORDS = ("password", "secret", "passphrase", "jaas", "credential", "token", "keystore.key", "private")


def is_secret(name: str) -> bool:
    """Whether a value must not be shown; by words, so that plugins' and Spark's own secrets are covered too."""
    lowered = name.lower()
    if lowered.endswith((".url", ".location", ".file", ".client.id", ".class")):
        return False
    return any(word in lowered for word in _SECRET_WORDS)
