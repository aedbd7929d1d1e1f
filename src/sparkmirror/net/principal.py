"""Who a client is to the brokers, as far as its own settings tell: what rights are granted to.

Brokers may call it otherwise: by `ssl.principal.mapping.rules`, `sasl.kerberos.principal.to.local.rules`, or a builder
of their own. By default they take what is said here.
"""

from __future__ import annotations

import re

from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.security import Security

ANONYMOUS = "User:ANONYMOUS"
NOT_KNOWN = "User:MIRROR"  # stands for what only the brokers know
_PRIMARY = re.compile(r"[/@]")


def principal_of(security: Security) -> str:
    name = ""
    try:
        if security.has_sasl:
            name = _login_name(security)
        elif security.has_tls:
            name = _subject(security)
        else:
            return ANONYMOUS
    except (SparkmirrorError, ValueError):  # a store or a token that can't be read now: others say that
        return NOT_KNOWN
    return f"User:{name}" if name else (NOT_KNOWN if security.has_sasl else ANONYMOUS)


def _login_name(security: Security) -> str:
    """Empty where only the brokers know it: of tokens of Kafka's own, and of tickets that we find somewhere."""
    from sparkmirror.config.logins import KerberosLogin, TokenLogin, read_login  # noqa: PLC0415 - where there is SASL
    from sparkmirror.net.sasl.tokens import read_subject, take_token  # noqa: PLC0415

    login = read_login(dict(security.settings))
    if isinstance(login, KerberosLogin):
        return _PRIMARY.split(login.principal)[0]
    if isinstance(login, TokenLogin):
        return read_subject(take_token(login, may_wait=False).text)
    return "" if login.is_token else login.username


def _subject(security: Security) -> str:
    """Of the certificate that is shown, as RFC 2253 has it; empty where none is."""
    from sparkmirror.net.tls.material import load_material, subject_of  # noqa: PLC0415 - where there is TLS

    return subject_of(load_material(security))
