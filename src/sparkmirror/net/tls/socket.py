"""A socket with TLS that a channel uses as it uses any other.

    broker  -- recv, all that is there --> incoming -- OpenSSL, a record a step --> the caller's buffer
            <-- send, all of a piece -----  outgoing <--------------------------- a piece

OpenSSL works in memory, since it would read a record of a few KB with two calls of the system. So this reads as a plain
socket does: less than was asked for means that there is no more for now.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from itertools import islice

from sparkmirror.errors import AuthenticationError, ConnectionLostError
from sparkmirror.net.deadline import time_left
from sparkmirror.net.security import Security
from sparkmirror.net.tls.ciphers import to_openssl
from sparkmirror.net.tls.context import SUITES, context_of, split_words
from sparkmirror.net.tls.faults import explain
from sparkmirror.protocol.produce import Buffer

READ_BYTES = 256 << 10
LARGE_BYTES = 16 << 10  # a record of TLS
JOINED_BYTES = 64 << 10
MOST_BYTES = 1 << 20  # of a piece that is sealed at once
SHORTEST_S = 0.01  # 0 would mean not to wait


class _Scratch(threading.local):
    """Where bytes come from the system; OpenSSL copies them."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(READ_BYTES))


_scratch = _Scratch()


class TlsSocket:
    """A connected socket and OpenSSL's two ends."""

    def __init__(self, plain: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._plain = plain
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._sealed = memoryview(b"")  # what the system has not taken yet
        self._sealed_of = 0  # so many bytes of the caller's: they count as sent when all of it is taken
        self._failure: OSError | None = None  # that came behind what was read
        self.cipher, self.version = self._tls.cipher, self._tls.version
        self.getpeercert, self.fileno = self._tls.getpeercert, plain.fileno
        self.setblocking, self.setsockopt, self.close = plain.setblocking, plain.setsockopt, plain.close

    def shake_hands(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            self._plain.settimeout(max(SHORTEST_S, until - time.monotonic()))
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._take(self._plain.recv(READ_BYTES))
                continue
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._flush()  # why, for the other side
                raise
            self._flush()
            return

    def recv_into(self, view: memoryview) -> int:
        """All that is there and finds room; 0 at the end of the connection. Else as a socket that does not block."""
        filled, is_drained = 0, False
        try:
            while filled < len(view):
                if self._incoming.pending or self._incoming.eof or self._tls.pending() or self._failure:
                    count = self._decrypt(view[filled:])
                    if count == 0:
                        return filled
                    if count is not None:
                        filled += count
                        continue
                if is_drained:
                    break
                is_drained = self._receive() < READ_BYTES
        except OSError as error:
            if not filled:
                raise
            if not isinstance(error, BlockingIOError):
                self._failure = error
        if not filled:
            raise BlockingIOError
        return filled

    def _decrypt(self, view: memoryview) -> int | None:
        """A record, or a part of it; None: it is not whole, 0: there is no other."""
        if self._failure is not None:
            raise self._failure
        try:
            return self._tls.read(len(view), view)  # type: ignore[return-value]
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLEOFError:
            return 0

    def recv(self, size: int) -> bytes:
        found = bytearray(size)
        return bytes(found[: self.recv_into(memoryview(found))])

    def sendmsg(self, buffers: Sequence[Buffer]) -> int:
        """As many bytes as were sent. What could not be is sealed already: it must be given again, unchanged."""
        if not self._sealed_of:
            chunk = gather(buffers)
            self._sealed_of = self._tls.write(chunk)
        self._flush()
        sent, self._sealed_of = self._sealed_of, 0
        return sent

    def _receive(self) -> int:
        count = self._plain.recv_into(_scratch.view)
        self._take(_scratch.view[:count])
        return count

    def _take(self, data: Buffer) -> None:
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        while self._sealed or self._outgoing.pending:
            self._sealed = self._sealed or memoryview(self._outgoing.read())
            self._sealed = self._sealed[self._plain.send(self._sealed) :]


def seconds_valid(secure: TlsSocket) -> float:
    """How long the other side's certificate is still valid."""
    found = secure.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(found["notAfter"])) - time.time()


def gather(buffers: Sequence[Buffer]) -> Buffer:
    """Small pieces become one, since each makes a record of its own."""
    first = buffers[0]
    if len(first) >= LARGE_BYTES or len(buffers) == 1:
        return first if len(first) <= MOST_BYTES else memoryview(first)[:MOST_BYTES]
    small, size = [first], len(first)
    for buffer in islice(buffers, 1, None):
        size += len(buffer)
        if size > JOINED_BYTES:
            break
        small.append(buffer)
    return b"".join(small)


def wrap_tls(plain: socket.socket, host: str, port: int, security: Security, timeout_s: float) -> TlsSocket:
    """After the handshake. The plain socket is used up, also if it fails."""
    where = f"{security.owner}: {host}:{port}"
    with contextlib.ExitStack() as at_failure:
        at_failure.callback(plain.close)
        try:
            secure = TlsSocket(plain, context_of(security), host)
            secure.shake_hands(max(SHORTEST_S, time_left(timeout_s)))
        except TimeoutError:
            raise ConnectionLostError(f"{where}: no TLS handshake within {timeout_s:.1f} s") from None
        except OSError as error:
            raise AuthenticationError(f"{where}: {explain(error, host, security)}") from error
        except ValueError as error:  # a name that no certificate can have
            raise ConnectionLostError(f"{where} is no name of a broker: {error}") from error
        _check_suite(secure, where, security)
        at_failure.pop_all()
        return secure


def _check_suite(secure: TlsSocket, where: str, security: Security) -> None:
    """Which suites TLS 1.3 offers can't be chosen beforehand."""
    wanted = [to_openssl(name) for name in split_words(security.get(SUITES))]
    used = secure.cipher()
    if wanted and used and used[0] not in wanted:
        raise AuthenticationError(
            f"{where}: it chose {used[0]}, which is not among {SUITES}: add it, or leave it to TLS"
        )
