"""Loopback ports that stay ours while a broker is down.

Below Linux' ephemeral range (32768 and up), so that no outgoing connection takes one between a broker's death
and its restart. A port is held by a bound socket that never listens: bound *without* SO_REUSEADDR, which
fails if anybody has it; the option is set only afterwards, which lets the JVM (it always sets it) bind and
listen beside us. Connecting while the broker is down is refused, as it should be.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys

from sparkmirror.errors import SetupError

HOST = "127.0.0.1"
FIRST_PORT = 20_000
END_PORT = 30_000
ATTEMPTS = 200


class ReservedPort:
    """A `chosen` port may still have connections of an earlier broker in TIME_WAIT, which only the option gets past.

    It fails then if anybody listens, but not if another process holds the port and does not listen yet.
    """

    def __init__(self, number: int, *, chosen: bool = False) -> None:
        self.number = number
        self._socket = socket.socket()
        try:
            if chosen:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((HOST, number))
        except OSError:
            self._socket.close()
            raise
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform != "linux":
            self._socket.close()  # elsewhere two sockets can't share it: checked once, not held

    def release(self) -> None:
        self._socket.close()


def reserve_port() -> ReservedPort:
    for _ in range(ATTEMPTS):
        with contextlib.suppress(OSError):
            return ReservedPort(random.randrange(FIRST_PORT, END_PORT))
    raise SetupError(f"No free port between {FIRST_PORT} and {END_PORT} on {HOST}: end what listens there.")


def reserve_chosen_port(number: int) -> ReservedPort:
    try:
        return ReservedPort(number, chosen=True)
    except OSError as error:
        raise SetupError(f"Port {number} on {HOST} is taken: choose another one, or end what listens there.") from error


def is_free(number: int) -> bool:
    """Whether a cluster could have this port now."""
    try:
        ReservedPort(number, chosen=True).release()
    except OSError:
        return False
    return True
