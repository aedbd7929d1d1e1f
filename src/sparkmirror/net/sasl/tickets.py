"""Kerberos tickets of a keytab: the first is waited for, the next is there before it ends.

A KDC that is away makes Kerberos' library wait for a minute, which no copy's loop may. So a timer fetches the next
tickets: one to ask with, and one for each broker that we talk to. They are kept in memory, and take the place of the
last ones when they are complete.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import math
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from sparkmirror.config.logins import KerberosLogin
from sparkmirror.errors import AuthenticationError
from sparkmirror.net.sasl.krb5 import LONGEST_WAIT_S, ask_in_time, explain, load_library

RENEW_AFTER = 0.8  # of a ticket's life, as Kafka's clients do by default
AGAIN_S = 10.0
SPARE_S = 1.0  # on its way to the broker a ticket must not end

log = logging.getLogger("sparkmirror")
_numbers = itertools.count()


@dataclass(slots=True)
class Tickets:
    """`hosts`: with these a conversation can begin, and nobody is asked for it. `ends_at`: by the monotonic clock."""

    credentials: Any
    ends_at: float
    hosts: set[str] = field(default_factory=set)

    @property
    def left_s(self) -> float:
        return self.ends_at - SPARE_S - time.monotonic()


def take_credentials(login: KerberosLogin, host: str, *, may_wait: bool) -> Any:
    """To talk to a broker with. Not `may_wait`: the KDC is not asked.

    What stands in a ticket cache is somebody else's to renew: it is looked at each time.
    """
    if login.keytab:
        return _keeper(login).take(host, may_wait=may_wait)
    store = {"ccache": login.ticket_cache} if login.ticket_cache else None
    return _credentials(login, store)


def service_name(login: KerberosLogin, host: str) -> Any:
    gssapi = load_library(login.krb5_conf)
    return gssapi.Name(f"{login.service}@{host}", gssapi.NameType.hostbased_service)


class TicketKeeper:
    """One login's tickets, for all threads of the process."""

    def __init__(self, login: KerberosLogin) -> None:
        self._login = login
        self._gssapi = load_library(login.krb5_conf)
        self._lock = threading.Lock()
        self._tickets: Tickets | None = None
        self._was_used = False
        self._refused: tuple[float, str] = (-math.inf, "")  # until when nobody asks again, and why

    def take(self, host: str, *, may_wait: bool) -> Any:
        tickets = self._tickets
        self._was_used = True
        if tickets is not None and tickets.left_s > 0 and host in tickets.hosts:
            return tickets.credentials
        if not may_wait:
            raise AuthenticationError(
                "sasl.jaas.config: the ticket has ended, and the KDC gave no other one in time: see that it is well"
            )
        return ask_in_time(lambda: self._take_anew(host), self._login)

    def _take_anew(self, host: str) -> Any:
        """One asks; others wait for its answer, and no longer than anybody waits for one."""
        if not self._lock.acquire(timeout=LONGEST_WAIT_S):
            raise AuthenticationError(
                "sasl.jaas.config: the KDC has been asked and does not answer: see that it is well"
            )
        try:
            tickets = self._tickets
            if tickets is None or tickets.left_s <= 0:
                tickets = self._fetch_unless_refused(host)
                self._use(tickets)
            self._add_host(tickets, host)
            return tickets.credentials
        finally:
            self._lock.release()

    def _fetch_unless_refused(self, host: str) -> Tickets:
        """Many connections may want them at once, and wait for one answer only."""
        until, said = self._refused
        if time.monotonic() < until:
            raise AuthenticationError(said)
        try:
            return self._fetch()
        except self._gssapi.exceptions.GSSError as error:
            self._refused = (time.monotonic() + AGAIN_S, explain(error, self._login, host))
            raise

    def _fetch(self) -> Tickets:
        # A memory of its own: the last tickets are used on while these are fetched.
        memory = f"MEMORY:sparkmirror-{os.getpid()}-{next(_numbers)}"
        credentials = _credentials(self._login, {"client_keytab": f"FILE:{self._login.keytab}", "ccache": memory})
        return Tickets(credentials, time.monotonic() + credentials.lifetime)

    def _add_host(self, tickets: Tickets, host: str) -> None:
        if host not in tickets.hosts:
            name = service_name(self._login, host)
            self._gssapi.SecurityContext(name=name, creds=tickets.credentials, usage="initiate").step()
            tickets.hosts.add(host)

    def _use(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._call_in(RENEW_AFTER * tickets.left_s, tickets)

    def _call_in(self, seconds: float, tickets: Tickets) -> None:
        timer = threading.Timer(max(0.0, seconds), self._renew, (tickets,))
        timer.daemon = True
        timer.start()

    def _renew(self, last: Tickets) -> None:
        """If somebody still uses them. A KDC that is away is asked again while they last."""
        if not self._was_used or self._tickets is not last:
            return
        self._was_used = False
        try:
            tickets = self._fetch()
            for host in list(last.hosts):
                with contextlib.suppress(self._gssapi.exceptions.GSSError):  # a broker that is gone
                    self._add_host(tickets, host)
            self._use(tickets)
        except Exception as error:  # whatever it is: nobody else asks for the next ones in time
            is_known = isinstance(error, self._gssapi.exceptions.GSSError)
            log.warning(
                "%s; the ticket at hand is used until it ends",
                explain(error, self._login, "its brokers") if is_known else error,
                exc_info=None if is_known else error,
            )
            self._was_used = True
            if last.left_s > AGAIN_S:
                self._call_in(AGAIN_S, last)


def _credentials(login: KerberosLogin, store: dict[str, str] | None) -> Any:
    gssapi = load_library(login.krb5_conf)
    principal = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal) if login.principal else None
    return gssapi.Credentials(name=principal, usage="initiate", store=store)


@functools.cache
def _keeper(login: KerberosLogin) -> TicketKeeper:
    return TicketKeeper(login)
