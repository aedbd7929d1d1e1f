"""What this machine has of Kerberos: MIT's library, a keytab; and what it means when that says no."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from sparkmirror.config.logins import KerberosLogin
from sparkmirror.errors import AuthenticationError
from sparkmirror.net.deadline import time_left

LONGEST_WAIT_S = 10.0  # for the KDC, where nothing else says how long a connection may take

Result = TypeVar("Result")


@functools.cache
def load_library(krb5_conf: str) -> Any:
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


def ask_in_time(work: Callable[[], Result], login: KerberosLogin) -> Result:
    """`work` asks the KDC, and can't be told to give up: the library waits for up to a minute.

    So it is done on a thread of its own, and a connection that is opened waits no longer than that may take.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    timeout_s = time_left(LONGEST_WAIT_S)
    threading.Thread(target=run, name="kerberos", daemon=True).start()
    try:
        return answer.result(timeout_s)
    except TimeoutError:
        raise AuthenticationError(
            f"sasl.jaas.config: the KDC has not answered for {timeout_s:.1f} s: see that the KDC of the realm of "
            f"{login.principal or 'our ticket'} in krb5.conf is well and can be reached from here"
        ) from None


def require_means(login: KerberosLogin) -> None:
    """AuthenticationError says what this machine lacks."""
    load_library(login.krb5_conf)
    if login.keytab and not os.access(login.keytab, os.R_OK):
        there = "can't be read" if Path(login.keytab).exists() else "is not there"
        raise AuthenticationError(
            f"sasl.jaas.config: the keytab {login.keytab} {there} on this machine: expected one of {login.principal}"
        )


def explain(error: Any, login: KerberosLogin, host: str) -> str:
    """`error`: GSSAPI's."""
    said = " ".join(str(error).split()).rpartition("): ")[2]  # what the mechanism says, behind what GSSAPI does
    low = said.lower()
    cure = (
        f"see that the realm knows {login.service}/{host} (sasl.kerberos.service.name), and that "
        f"{login.principal or 'our principal'} is right"
    )
    if "skew" in low or "not yet valid" in low:
        cure = "see that this machine, the brokers and the KDC have the same time"
    elif "cannot contact any kdc" in low or "find kdc" in low:
        cure = "see that the KDC of the realm in krb5.conf is well and can be reached from here"
    elif login.keytab and any(word in low for word in ("keytab", "credentials cache", "preauth", "integrity check")):
        cure = f"see that the keytab {login.keytab} holds the newest key of {login.principal}"
    elif not login.keytab and any(word in low for word in ("no kerberos credentials", "credentials cache", "expired")):
        cure = "get a ticket (kinit), or use a keytab: useKeyTab=true in sasl.jaas.config"
    return f"sasl.jaas.config: Kerberos refuses ({said}): {cure}"
