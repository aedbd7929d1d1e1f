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
MOST_READS = 64  # before somebody else has a turn
MOST_TALK_BYTES = 64 << 10  # that OpenSSL wants to say by itself
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
        self._failure: OSError | None = None
        self.has_ended = False  # nothing can be read any more but what was decrypted
        self.cipher, self.version = self._tls.cipher, self._tls.version
        self.getpeercert, self.fileno = self._tls.getpeercert, plain.fileno
        self.setblocking, self.setsockopt, self.close = plain.setblocking, plain.setsockopt, plain.close

    def shake_hands(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._plain.settimeout(left)
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
        filled = self._decrypt(view)
        for _ in range(MOST_READS):
            if self.has_ended or filled == len(view):
                break
            is_drained = self._receive() < READ_BYTES
            filled += self._decrypt(view[filled:])
            if is_drained:
                break
        self._talk()
        if not filled:
            self.check()
        if not filled and not self.has_ended:
            raise BlockingIOError
        return filled

    def check(self) -> None:
        """Raise what has ended the connection, if it was a fault. It is said again and again."""
        if self._failure is not None:
            raise self._failure

    def _decrypt(self, view: memoryview) -> int:
        """All records that are here and whole, as far as they find room."""
        filled = 0
        while filled < len(view) and (self._incoming.pending or self._incoming.eof or self._tls.pending()):
            if self._failure is not None:
                break
            try:
                count: int = self._tls.read(len(view) - filled, view[filled:])  # type: ignore[assignment]
            except ssl.SSLWantReadError:
                break
            except ssl.SSLEOFError:
                count = 0
            except OSError as error:
                self._end(error)
                break
            if not count:
                self.has_ended = True
                break
            filled += count
        return filled

    def _end(self, error: OSError) -> None:
        self._failure, self.has_ended = error, True

    def _talk(self) -> None:
        """What OpenSSL says by itself (new keys) goes out if that can be, else with the next piece."""
        if self._sealed_of or not self._outgoing.pending:
            return  # nor does the rest of a piece, which must not be sent any more if a lease is over
        if self._outgoing.pending > MOST_TALK_BYTES:
            self._end(ssl.SSLError("the other side wants new keys all the time"))
            return
        with contextlib.suppress(OSError):  # who reads or sends next meets it
            self._flush()

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
        """How much came; none for now counts as little, as an end does."""
        try:
            count = self._plain.recv_into(_scratch.view)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._end(error)
            return 0
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
