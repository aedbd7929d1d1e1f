"""What went wrong between two sides of TLS, in words that name the setting to look at."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkmirror.errors import ConfigError
from sparkmirror.net.security import Security
from sparkmirror.net.tls.context import ENABLED, HOST_CHECK, SUITES
from sparkmirror.net.tls.material import (
    CHAIN_TEXT,
    KEY_FILE,
    KEY_TEXT,
    TRUST_FILE,
    TRUST_TEXT,
    load_material,
    seconds_valid,
)

if TYPE_CHECKING:
    from sparkmirror.net.tls.socket import TlsSocket

# OpenSSL's X509_V_ERR_...
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_HOSTS = (62, 64)
_UNTRUSTED = (2, 7, 18, 19, 20, 21, 24)

_NO_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_NO_COMMON = ("PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "HANDSHAKE_FAILURE", "NO_CIPHERS", "INSUFFICIENT_SECURITY")
_OUR_CERTIFICATE = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")


def find_alert(error: OSError, secure: socket.socket | TlsSocket) -> ssl.SSLError | None:
    """What the broker said before it hung up: the error itself, or what is left to be read behind one of sending."""
    if isinstance(error, ssl.SSLError):
        return error
    try:
        secure.recv(1)
    except ssl.SSLError as alert:
        return alert
    except OSError:
        return None
    return None


def explain(error: OSError, host: str, security: Security) -> str:
    """Why there is no TLS connection, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _explain_theirs(error, host, security)
    if isinstance(error, ssl.SSLEOFError | ConnectionError):
        return (
            "it closed the connection in the TLS handshake: see that this port's listener has TLS, else correct "
            f"security.protocol={security.protocol}; the broker's log may say more"
        )
    reason = (error.reason if isinstance(error, ssl.SSLError) else None) or str(error)
    return next((said(security) for words, said in _BY_REASON if any(word in reason for word in words)), reason)


def _explain_theirs(error: ssl.SSLCertVerificationError, host: str, security: Security) -> str:
    code = error.verify_code
    if code in _WRONG_HOSTS:
        return (
            f"its certificate is not for {host}: use a name that stands in it (bootstrap.servers, the brokers' "
            f"advertised.listeners), or set {HOST_CHECK} to nothing: then any host of that CA will do"
        )
    if code == _EXPIRED:
        return "its certificate, or one that it hangs on, has expired: renew it; or this machine's clock is ahead"
    if code == _NOT_YET_VALID:
        return "its certificate is not valid yet: this machine's clock is behind, or the certificate begins later"
    if code in _UNTRUSTED:
        return f"its certificate comes from no CA that {_trust_of(security)}"
    return f"its certificate is refused: {error.verify_message}"


def _trust_of(security: Security) -> str:
    if path := security.get(TRUST_FILE):
        return f"stands in {TRUST_FILE}={path}: put the CA's certificate there"
    if security.get(TRUST_TEXT):
        return f"stands in the trust store: put the CA's certificate into {TRUST_FILE} or {TRUST_TEXT}"
    return f"this machine trusts: set {TRUST_FILE} or {TRUST_TEXT} to the CA's certificate"


def _explain_ours(security: Security) -> str:
    if security.get(KEY_FILE) or security.get(KEY_TEXT):
        keys = KEY_FILE if security.get(KEY_FILE) else CHAIN_TEXT
        return f"it refuses our certificate ({keys}): {_fault_of_ours(security)}"
    return f"it wants a certificate of ours (ssl.client.auth): set {KEY_FILE} or {KEY_TEXT}"


def _fault_of_ours(security: Security) -> str:
    try:
        begins_s, ends_s = seconds_valid(load_material(security))
    except ConfigError:  # its file is being replaced
        begins_s, ends_s = 0.0, 0.0
    if ends_s < 0:
        return "it has expired: renew it; or this machine's clock is ahead"
    if begins_s > 0:
        return "it is not valid yet: this machine's clock is behind, or the certificate begins later"
    return "is it from a CA that the broker trusts?"


def _explain_plain(security: Security) -> str:
    return f"it does not speak TLS on this port: use another, or correct security.protocol={security.protocol}"


def _explain_nothing_common(security: Security) -> str:
    said = f"the two have no protocol or cipher suite in common: see {ENABLED} and {SUITES}"
    # TLS 1.2 tells a missing certificate by the same alert.
    return said if security.get(KEY_FILE) or security.get(KEY_TEXT) else f"{said}; or {_explain_ours(security)}"


_BY_REASON: tuple[tuple[tuple[str, ...], Callable[[Security], str]], ...] = (
    (_NO_TLS, _explain_plain),
    (_OUR_CERTIFICATE, _explain_ours),
    (_NO_COMMON, _explain_nothing_common),
)
