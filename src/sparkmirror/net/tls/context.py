"""From settings to OpenSSL's context, made once and again when a store's file changes."""

from __future__ import annotations

import logging
import ssl

from sparkmirror.errors import ConfigError
from sparkmirror.net.security import Security
from sparkmirror.net.tls.ciphers import DEFAULT_VERSIONS, VERSIONS, limit_suites, limit_versions
from sparkmirror.net.tls.key import load_key
from sparkmirror.net.tls.material import Material, Stamp, load_material, stamps_of

log = logging.getLogger("sparkmirror.tls")

HOST_CHECK = "ssl.endpoint.identification.algorithm"
SUITES, ENABLED, NEWEST = "ssl.cipher.suites", "ssl.enabled.protocols", "ssl.protocol"
MOST_KNOWN = 64

_known: dict[Security, tuple[tuple[Stamp | None, ...], ssl.SSLContext]] = {}


def context_of(security: Security) -> ssl.SSLContext:
    """The one that was made before while its files are the same. A store that can't be read now changes nothing."""
    stamps = stamps_of(security)
    before = _known.get(security)
    if before is not None and before[0] == stamps:
        return before[1]
    try:
        context = build_context(security, load_material(security))
    except ConfigError as error:
        if before is None:
            raise
        log.warning("%s; what was read before is used on", error)
        context = before[1]
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[security] = (stamps, context)
    return context


def build_context(security: Security, material: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_host(security)
    context.options |= ssl.OP_NO_RENEGOTIATION
    # As in Java, whatever stands in the trust store is trusted, also if it is no CA's own certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if material.anchors is None:
        context.load_default_certs()
    else:
        _trust(context, material.anchors, security.owner)
    if material.key:
        _show_key(context, material, security.owner)
    try:
        limit_versions(context, _versions(security))
        limit_suites(context, split_words(security.get(SUITES)))
    except ValueError as error:
        raise ConfigError(f"{security.owner}: {error}") from None
    return context


def checks_host(security: Security) -> bool:
    wanted = security.get(HOST_CHECK, "https").lower()
    if wanted not in ("", "https"):
        raise ConfigError(f"{security.owner}: {HOST_CHECK}: expected https, or nothing for no check, got {wanted!r}")
    return wanted == "https"


def _versions(security: Security) -> list[str]:
    """`ssl.protocol` counts where the protocols are not listed: up to this one."""
    if enabled := split_words(security.get(ENABLED)):
        return enabled
    newest = security.get(NEWEST)
    if newest in VERSIONS and newest not in DEFAULT_VERSIONS:
        return [newest]
    return [name for name in DEFAULT_VERSIONS if newest not in VERSIONS or name <= newest]


def split_words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _trust(context: ssl.SSLContext, anchors: tuple[bytes, ...], owner: str) -> None:
    try:
        context.load_verify_locations(cadata=b"".join(anchors))
    except ssl.SSLError as error:
        raise ConfigError(f"{owner}: a certificate of ssl.truststore can't be read: {error.reason}") from None


def _show_key(context: ssl.SSLContext, material: Material, owner: str) -> None:
    try:
        load_key(context, material.key, material.chain)
    except ssl.SSLError as error:
        said = "the certificate is not the private key's" if error.reason == "KEY_VALUES_MISMATCH" else error.reason
        raise ConfigError(f"{owner}: the key of ssl.keystore can't be used: {said}") from None
