"""Passwords and keys on their way to tasks: the driver keeps them, a task borrows those of its clients.

What Spark carries names their owner only. A task asks the driver's desk, which answers with the settings and the
content of their stores, so that only the driver's machine needs the files. Nothing of this is an option, a setting of
Spark's or a row, which would be seen in its UI and its event log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

from sparkmirror.copy.lease import Lease
from sparkmirror.errors import ConfigError, ConnectionLostError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.security import Security, Settings
from sparkmirror.pipeline.cord import Cord

log = logging.getLogger("sparkmirror.secrets")


class Strongbox:
    """The driver's, for all clients of its flows."""

    def __init__(self, securities: Iterable[Security] = ()) -> None:
        self._securities = {security.owner: security for security in securities}
        self._reading = threading.Lock()
        self._lent: dict[str, tuple[object, Security | None]] = {}  # with the stamps of the files that it was read from

    def lend(self, owner: str) -> Settings | None:
        """The client's settings; None for who is not known, or has never been readable."""
        with self._reading:
            security = self._securities.get(owner)
            carried = self._with_stores(security) if security else None
            return carried.settings if carried else None

    def _with_stores(self, security: Security) -> Security | None:
        """Read again when a file has changed; what can't be read changes nothing."""
        if not security.has_tls:
            return security
        from sparkmirror.net.tls.material import carry_material, stamps_of  # noqa: PLC0415 - where there is TLS

        stamps = stamps_of(security)
        read_from, carried = self._lent.get(security.owner, (None, None))
        if read_from != stamps:
            try:
                carried = carry_material(security)
            except ConfigError as error:
                log.warning("%s; what was read before is used on", error)
            self._lent[security.owner] = (stamps, carried)
        return carried


def unseal(address: ClusterAddress, cord: Cord | None = None) -> ClusterAddress:
    """With its client's secrets, in a task. An address without any is returned as it is, and nobody is asked."""
    security = address.client.security
    if not security.is_sealed:
        return address
    if cord is None:
        with closing(Cord.to_desk()) as own:
            return unseal(address, own)
    settings = cord.borrow(security.owner)
    if settings is None:
        raise ConnectionLostError(f"{security.owner}: the driver does not answer with its security settings")
    return replace(
        address, client=replace(address.client, security=replace(security, settings=settings, is_sealed=False))
    )


def unseal_lease(lease: Lease, cord: Cord) -> Lease:
    return replace(
        lease,
        source=unseal(lease.source, cord),
        target=unseal(lease.target, cord),
        heartbeats=tuple(replace(each, target=unseal(each.target, cord)) for each in lease.heartbeats),
    )
