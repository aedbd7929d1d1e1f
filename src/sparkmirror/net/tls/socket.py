"""A socket with TLS that a channel uses as it uses any other."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from sparkmirror.errors import AuthenticationError, ConnectionLostError
from sparkmirror.net.deadline import time_left
from sparkmirror.net.security import Security
from sparkmirror.net.tls.ciphers import to_openssl
from sparkmirror.net.tls.context import SUITES, context_of, split_words
from sparkmirror.net.tls.faults import explain
from sparkmirror.protocol.produce import Buffer

LARGE_BYTES = 16 << 10  # a record of TLS
JOINED_BYTES = 64 << 10
SHORTEST_S = 0.01  # 0 would mean not to wait


class TlsSocket(ssl.SSLSocket):
    """What OpenSSL could not send at once it wants to be given again, unchanged."""

    _again: Buffer | None = None

    def sendmsg(self, buffers: Sequence[Buffer], *_: Any) -> int:  # type: ignore[override]
        """As many bytes as were sent. Small pieces become one, since each call makes a record of its own."""
        chunk = self._again if self._again is not None else gather(buffers)
        self._again = chunk
        sent = self.send(chunk)
        self._again = None
        return sent


def seconds_valid(secure: ssl.SSLSocket) -> float:
    """How long the other side's certificate is still valid."""
    found = secure.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(found["notAfter"])) - time.time()


def gather(buffers: Sequence[Buffer]) -> Buffer:
    first = buffers[0]
    if len(first) >= LARGE_BYTES or len(buffers) == 1:
        return first
    small, size = [first], len(first)
    for buffer in islice(buffers, 1, None):
        size += len(buffer)
        if size > JOINED_BYTES:
            break
        small.append(buffer)
    return b"".join(small)


def wrap_tls(plain: socket.socket, host: str, port: int, security: Security, timeout_s: float) -> socket.socket:
    """After the handshake. The plain socket is used up, also if it fails."""
    where = f"{security.owner}: {host}:{port}"
    with contextlib.ExitStack() as at_failure:
        at_failure.callback(plain.close)
        context = context_of(security)
        context.sslsocket_class = TlsSocket
        try:
            secure = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
            at_failure.callback(secure.close)
            secure.settimeout(max(SHORTEST_S, time_left(timeout_s)))
            secure.do_handshake()
        except TimeoutError:
            raise ConnectionLostError(f"{where}: no TLS handshake within {timeout_s:.1f} s") from None
        except OSError as error:
            raise AuthenticationError(f"{where}: {explain(error, host, security)}") from error
        except ValueError as error:  # a name that no certificate can have
            raise ConnectionLostError(f"{where} is no name of a broker: {error}") from error
        _check_suite(secure, where, security)
        at_failure.pop_all()
        return secure


def _check_suite(secure: ssl.SSLSocket, where: str, security: Security) -> None:
    """Which suites TLS 1.3 offers can't be chosen beforehand."""
    wanted = [to_openssl(name) for name in split_words(security.get(SUITES))]
    used = secure.cipher()
    if wanted and used and used[0] not in wanted:
        raise AuthenticationError(
            f"{where}: it chose {used[0]}, which is not among {SUITES}: add it, or leave it to TLS"
        )
