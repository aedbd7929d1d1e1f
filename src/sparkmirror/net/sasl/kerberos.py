"""GSSAPI (RFC 4752) with Kerberos: a ticket for the broker's principal, from a keytab or a ticket cache.

Records stay outside of Kerberos' own encryption, as with every client of Kafka: use SASL_SSL.
"""

from __future__ import annotations

from typing import Any

from sparkmirror.config.logins import KerberosLogin
from sparkmirror.errors import AuthenticationError, ProtocolError
from sparkmirror.net.sasl.krb5 import ask_in_time, explain, load_library, require_means
from sparkmirror.net.sasl.plain import Conversation
from sparkmirror.net.sasl.tickets import service_name, take_credentials

_NO_LAYER = 1
_WITHOUT_LAYER = bytes((_NO_LAYER, 0, 0, 0))


def converse(login: KerberosLogin, host: str, *, may_wait: bool) -> Conversation:
    """Not `may_wait`: the KDC is not asked."""
    require_means(login)
    gssapi = load_library(login.krb5_conf)
    try:
        yield from _converse(gssapi, login, host, may_wait)
    except gssapi.exceptions.GSSError as error:
        raise AuthenticationError(explain(error, login, host)) from None


def _converse(gssapi: Any, login: KerberosLogin, host: str, may_wait: bool) -> Conversation:
    context = gssapi.SecurityContext(
        name=service_name(login, host),
        creds=take_credentials(login, host, may_wait=may_wait),
        usage="initiate",
        mech=gssapi.MechType.kerberos,
        flags=gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity,
    )
    answer = yield ask_in_time(context.step, login) or b""
    while not context.complete:
        answer = yield context.step(answer) or b""
    layers = context.unwrap(answer).message
    if len(layers) != 4 or not layers[0] & _NO_LAYER:
        raise ProtocolError("the broker wants Kerberos' own encryption, which Kafka does not have")
    yield context.wrap(_WITHOUT_LAYER, False).message
