"""Keys of TLS: `ssl.*`."""

from __future__ import annotations

from collections.abc import Callable

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_TEXTS = [
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
]
_JAVA = "a Java class can't run here"
_OPENSSL = "TLS is OpenSSL's, which has no providers of Java's"
# (key, why, values that change nothing)
_IMPOSSIBLE = (
    ("ssl.engine.factory.class", _JAVA, ("DefaultSslEngineFactory",)),
    ("ssl.keymanager.algorithm", _OPENSSL, ("SunX509", "NewSunX509", "PKIX")),
    ("ssl.trustmanager.algorithm", _OPENSSL, ("PKIX", "SunX509")),
    ("ssl.provider", _OPENSSL, ("SunJSSE", "SUN")),
    ("ssl.secure.random.implementation", _OPENSSL, ("SHA1PRNG", "NativePRNG", "DRBG")),
)


def tls_keys(readers: tuple[Reader, ...]) -> tuple[Key[object], ...]:
    text: Callable[[str], object] = v.optional(v.text)
    in_force = (Key(name=name, parse=text, default="", readers=readers, state=State.IN_FORCE) for name in _TEXTS)
    impossible = (
        Key(name=name, parse=v.refused(why, *harmless), default="", readers=readers, state=State.IMPOSSIBLE, why=why)
        for name, why, harmless in _IMPOSSIBLE
    )
    return (*in_force, *impossible)
