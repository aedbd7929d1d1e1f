"""GSSAPI (RFC 4752) with Kerberos: a ticket for the broker's principal, from a keytab or a ticket cache.

Tickets are MIT Kerberos' own business: it takes the first from the keytab, and a new one when the last is nearly over.
They are kept in memory. Records stay outside of Kerberos' own encryption, as with every client of Kafka: use SASL_SSL.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from sparkmirror.config.logins import KerberosLogin
from sparkmirror.errors import AuthenticationError, ProtocolError
from sparkmirror.net.sasl.plain import Conversation

_NO_LAYER = 1
_WITHOUT_LAYER = bytes((_NO_LAYER, 0, 0, 0))


def converse(login: KerberosLogin, host: str) -> Conversation:
    require_means(login)
    gssapi = _load(login.krb5_conf)
    try:
        yield from _converse(gssapi, login, host)
    except gssapi.exceptions.GSSError as error:
        raise AuthenticationError(_explain(error, login, host)) from None


def _converse(gssapi: Any, login: KerberosLogin, host: str) -> Conversation:
    name = gssapi.Name(f"{login.service}@{host}", gssapi.NameType.hostbased_service)
    context = gssapi.SecurityContext(
        name=name,
        creds=_credentials(login),
        usage="initiate",
        mech=gssapi.MechType.kerberos,
        flags=gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity,
    )
    answer = yield context.step() or b""
    while not context.complete:
        answer = yield context.step(answer) or b""
    layers = context.unwrap(answer).message
    if len(layers) != 4 or not layers[0] & _NO_LAYER:
        raise ProtocolError("the broker wants Kerberos' own encryption, which Kafka does not have")
    yield context.wrap(_WITHOUT_LAYER, False).message


def require_means(login: KerberosLogin) -> None:
    """What this machine must have of Kerberos; AuthenticationError says what it lacks."""
    _load(login.krb5_conf)
    if login.keytab and not os.access(login.keytab, os.R_OK):
        there = "can't be read" if Path(login.keytab).exists() else "is not there"
        raise AuthenticationError(
            f"sasl.jaas.config: the keytab {login.keytab} {there} on this machine: expected one of {login.principal}"
        )


@functools.cache
def _credentials(login: KerberosLogin) -> Any:
    gssapi = _load(login.krb5_conf)
    store = {"client_keytab": f"FILE:{login.keytab}", "ccache": f"MEMORY:sparkmirror-{abs(hash(login))}"}
    if not login.keytab:
        store = {"ccache": login.ticket_cache} if login.ticket_cache else {}
    principal = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal) if login.principal else None
    return gssapi.Credentials(name=principal, usage="initiate", store=store or None)


def _explain(error: Any, login: KerberosLogin, host: str) -> str:
    said = " ".join(str(error).split()).rpartition("): ")[2]  # what the mechanism says, behind what GSSAPI does
    low = said.lower()
    cure = f"see that the realm knows {login.service}/{host}, and that {login.principal or 'our principal'} is right"
    if "skew" in low or "not yet valid" in low:
        cure = "see that this machine, the brokers and the KDC have the same time"
    elif "cannot contact any kdc" in low or "find kdc" in low:
        cure = "see that the KDC of the realm in krb5.conf is well and can be reached from here"
    elif login.keytab and any(word in low for word in ("keytab", "credentials cache", "preauth", "integrity check")):
        cure = f"see that the keytab {login.keytab} holds the newest key of {login.principal}"
    elif not login.keytab and any(word in low for word in ("no kerberos credentials", "credentials cache", "expired")):
        cure = "get a ticket (kinit), or use a keytab: useKeyTab=true in sasl.jaas.config"
    return f"sasl.jaas.config: Kerberos refuses ({said}): {cure}"


@functools.cache
def _load(krb5_conf: str) -> Any:
    if krb5_conf:
        os.environ.setdefault("KRB5_CONFIG", krb5_conf)
    try:
        import gssapi  # noqa: PLC0415  (an extra that needs Kerberos' own library on the machine)
    except ImportError:
        raise AuthenticationError(
            "sasl.mechanism GSSAPI needs Kerberos: install its library (Debian: libkrb5-dev) and then "
            "sparkmirror[kerberos], on the driver's machine and on the executors'"
        ) from None
    return gssapi
