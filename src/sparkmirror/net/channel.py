"""One connection to one broker.

A broker answers the requests of a connection in the order they came, so a channel is two queues: bytes
going out and requests waiting for their answer. It never blocks by itself: a selector loop calls `flush` when
the socket can be written and `receive` when it can be read. `call` is the blocking way, for the control plane.

A session that nears its end is renewed on the way, without the callers' doing: the next request begins it. Whatever is
asked meanwhile is held back and counts as pending, and follows when the broker knows us again (KIP-368).
"""

from __future__ import annotations

import math
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from sparkmirror.errors import AuthenticationError, BrokerError, ConnectionLostError, ProtocolError
from sparkmirror.net.address import check_place
from sparkmirror.net.client import SYSTEMS, Client
from sparkmirror.net.deadline import SETUP_TIMEOUT, deadline, time_left
from sparkmirror.net.inbox import FrameSizeError, Inbox
from sparkmirror.net.response import decode_response
from sparkmirror.protocol import codes, fetch, offset_fetch
from sparkmirror.protocol.produce import Buffer
from sparkmirror.protocol.wire import Reader, encode_string

if TYPE_CHECKING:
    from sparkmirror.net.sasl.authentication import Authentication
    from sparkmirror.net.tls.socket import TlsSocket

_HEADER = struct.Struct(">ihhi")
_I32 = struct.Struct(">i")
_TLS_ALERT = b"\x15\x03"

RECORD_BYTES = 17 << 10  # of TLS: OpenSSL may have as many that nobody has seen
SOCKET_BUFFER_BYTES = 4 << 20
MAX_PIECES = 512  # under the system's IOV_MAX of 1,024
CONNECT_TIMEOUT_S = 10.0
REQUEST_TIMEOUT_S = 30.0
# How large an answer may be. What kafka-python decodes takes twenty times as much memory as its bytes, and who has not
# proved who he is yet may say as much as a broker would hear from a client then (sasl.server.max.receive.size).
LARGEST_ANSWER_BYTES = 32 << 20
LARGEST_FETCH_BYTES = 256 << 20
LARGEST_DECODED_BYTES = 16 << 20
LARGEST_LOGIN_BYTES = 512 << 10
_LARGEST = {fetch.API_KEY: LARGEST_FETCH_BYTES, offset_fetch.API_KEY: 2 * LARGEST_ANSWER_BYTES}


@dataclass(slots=True)
class Pending:
    """A request that waits for its answer, which has `most_bytes`. `tag` is the sender's own."""

    correlation: int
    flexible: bool
    tag: Any
    deadline: float
    most_bytes: int = LARGEST_ANSWER_BYTES


class _SaslStep(NamedTuple):
    """The tag of a request that renews the session."""

    response_class: Any
    version: int


class Channel:
    """A connection with its queues. Not for use from two threads at once."""

    def __init__(self, host: str, port: int, client: Client, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        self.host, self.port = host, port
        self._security = client.security
        self._client = encode_string(client.client_id)
        self._correlation = 0
        self._wakes_at = 1
        self._failure: ConnectionLostError | None = None  # while somebody had the file: how much was sent is not known
        self._out: deque[Buffer] = deque()
        self._unsent = 0  # bytes
        self.pending: deque[Pending] = deque()
        self._renewal: Authentication | None = None  # under way
        self._renew_at = math.inf
        self._held: deque[Buffer] = deque()
        self.versions: dict[int, tuple[int, int]] = {}
        self._answers = 0  # since the versions are known
        self._is_known = False  # both sides have proved who they are, if they have to
        self.request_timeout_s = REQUEST_TIMEOUT_S if client.request_timeout_s is None else client.request_timeout_s
        self.used_at = time.monotonic()  # when something was last asked
        until = time.monotonic() + timeout_s
        plain = _connect(host, port, time_left(timeout_s))
        self._socket: socket.socket | TlsSocket = plain
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._set_buffer(socket.SO_RCVBUF, client.receive_buffer_bytes)
        self._set_buffer(socket.SO_SNDBUF, client.send_buffer_bytes)
        if self._security.has_tls:
            from sparkmirror.net.tls.socket import wrap_tls  # noqa: PLC0415 - only who needs it loads it

            left = max(0.0, until - time.monotonic())
            self._socket = wrap_tls(plain, host, port, self._security, left)
        self._socket.setblocking(False)
        self._inbox = Inbox(self._socket)
        try:
            self._negotiate(max(0.0, until - time.monotonic()))
            if self._security.has_sasl:
                self._authenticate(until)
            self._is_known = True
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def trusted_s(self) -> float | None:
        """How long the broker's certificate is still valid; None: it showed none."""
        if isinstance(self._socket, socket.socket):
            return None
        from sparkmirror.net.tls.socket import seconds_valid  # noqa: PLC0415

        return seconds_valid(self._socket)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _set_buffer(self, option: int, size: int | None) -> None:
        if size != SYSTEMS:
            self._socket.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES if size is None else size)

    @property
    def is_renewing(self) -> bool:
        """What is asked meanwhile is not sent before the session is renewed."""
        return self._renewal is not None

    @property
    def wants_write(self) -> bool:
        return bool(self._out)

    def unsent(self) -> Iterator[memoryview]:
        """What waits to be sent and belongs to somebody else."""
        return (piece for piece in (*self._out, *self._held) if isinstance(piece, memoryview))

    def move(self, move: Callable[[memoryview], memoryview]) -> None:
        """Let what waits to be sent stand elsewhere."""
        for queue in (self._out, self._held):
            for index, piece in enumerate(queue):
                if isinstance(piece, memoryview):
                    queue[index] = move(piece)

    @property
    def missing(self) -> int:
        """Bytes of a large answer that has begun to arrive: at least so many are still to come; 0: there is none."""
        return max(0, self._inbox.missing - (RECORD_BYTES if self.is_secret else 0))

    def supports(self, api_key: int, version: int) -> bool:
        low, high = self.versions.get(api_key, (0, -1))
        return low <= version <= high

    def limit(self, api_key: int, version: int) -> None:
        """Speak no newer version of an api than this one."""
        low, high = self.versions.get(api_key, (0, -1))
        self.versions[api_key] = (low, min(high, version))

    def send(
        self,
        api_key: int,
        version: int,
        pieces: Sequence[Buffer],
        *,
        flexible: bool,
        tag: Any = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        """Queue a request and write what the socket takes at once. The pieces must not change until answered."""
        now = self.used_at = time.monotonic()
        if self._renewal is None and now >= self._renew_at:
            renewal = self._log_in(may_wait=False)
            self._ask_sasl(renewal.start())
            self._renewal = renewal
        out = self._out if self._renewal is None else self._held
        self.pending.append(self._queue(out, api_key, version, pieces, flexible, tag, now + timeout_s))
        self.flush()

    def _queue(
        self,
        out: deque[Buffer],
        api_key: int,
        version: int,
        pieces: Sequence[Buffer],
        flexible: bool,
        tag: Any,
        deadline: float,
    ) -> Pending:
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        head = self._client + (b"\0" if flexible else b"")
        size = 8 + len(head) + sum(map(len, pieces))
        out.append(_HEADER.pack(size, api_key, version, self._correlation) + head)
        out.extend(filter(len, pieces))
        self._unsent += _I32.size + size
        return Pending(self._correlation, flexible, tag, deadline, _LARGEST.get(api_key, LARGEST_ANSWER_BYTES))

    def wake_at(self, count: int) -> None:
        """Be readable for a selector only when so many bytes are here, or the other side hung up.

        On other systems than Linux a read of less would find nothing: there it is readable with the first byte.
        """
        if count != self._wakes_at and sys.platform == "linux":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._wakes_at = count

    def note_wake_at(self, count: int) -> None:
        """Somebody else has set it."""
        self._wakes_at = count

    def flush(self) -> None:
        """Write as much as the socket takes without waiting."""
        if self._failure is not None:
            raise self._failure
        out = self._out
        while out:
            pieces = out if len(out) <= MAX_PIECES else [out[i] for i in range(MAX_PIECES)]
            try:
                sent = self._socket.sendmsg(pieces)
            except BlockingIOError:
                return
            except OSError as error:
                raise self._lost("was lost while sending", error) from error
            self._unsent -= sent
            if not self._unsent:
                out.clear()
            while sent and out:
                size = len(out[0])
                if sent < size:
                    out[0] = memoryview(out[0])[sent:]
                    break
                out.popleft()
                sent -= size

    def receive(self) -> Iterator[tuple[Pending, memoryview]]:
        """The answers that have arrived whole, each with the request it belongs to."""
        if self._failure is not None:
            raise self._failure
        self._inbox.wake()
        while (frame := self._next_frame()) is not None:
            pending, body = self._match(frame)
            if isinstance(pending.tag, _SaslStep):
                self._take_sasl(pending.tag, body)
            else:
                yield pending, body

    def _next_frame(self) -> memoryview | None:
        most_bytes = self.pending[0].most_bytes if self._is_known and self.pending else LARGEST_LOGIN_BYTES
        try:
            frame = self._inbox.next_frame(most_bytes)
            if frame is None and self._has_ended:
                raise EOFError
            return frame
        except FrameSizeError as error:
            if error.head.startswith(_TLS_ALERT) and not self.versions:
                raise AuthenticationError(f"{self} speaks TLS: set security.protocol to SSL or SASL_SSL") from error
            raise ProtocolError(f"{self} announced a response of {error.size} bytes, at most {most_bytes}") from error
        except EOFError:
            raise self._closed() from None
        except OSError as error:
            raise self._lost("was lost", error) from error

    def _lost(self, said: str, error: OSError) -> ConnectionLostError:
        """A broker that does not like our certificate says so when the handshake is over, and hangs up."""
        if self._security.has_tls and not self.versions:
            from sparkmirror.net.tls.faults import explain, find_alert  # noqa: PLC0415

            alert = find_alert(error, self._socket)
            if alert is not None:
                where = f"{self._security.owner}: {self}"
                return AuthenticationError(f"{where}: {explain(alert, self.host, self._security)}")
        return self._closed(f"{said}: {error}")

    def _closed(self, said: str = "closed the connection") -> ConnectionLostError:
        if self.versions and not self._answers and not self._security.has_sasl:
            cure = "at the first request: a listener with SASL does so; see security.protocol"
            return AuthenticationError(f"{self} {said} {cure}")
        if self.versions:
            return ConnectionLostError(f"{self} {said}")
        if self._security.has_tls:
            cure = "right after the TLS handshake: does it want a certificate of ours? See its log"
            return AuthenticationError(f"{self._security.owner}: {self} {said} {cure}")
        return ConnectionLostError(
            f"{self} {said} before it said anything: a listener with TLS does so; see security.protocol"
        )

    def _match(self, frame: memoryview) -> tuple[Pending, memoryview]:
        correlation = _I32.unpack_from(frame)[0]
        if not self.pending or self.pending[0].correlation != correlation:
            raise ProtocolError(f"{self} answered a request that was not asked (id {correlation})")
        pending = self.pending.popleft()
        self._answers += 1
        reader = Reader(frame[4:], flexible=pending.flexible)
        reader.skip_tags()
        return pending, frame[4 + reader.position :]

    def lend(self, until: float) -> int | None:
        """Its file is somebody else's for a while: the id of the last request. None: not now, something is under way
        that only this knows, or a session has to be renewed before that time.
        """
        is_whole = self._inbox.is_empty and not self._out and self._renewal is None
        return self._correlation if is_whole and self._renew_at > until else None

    @property
    def is_secret(self) -> bool:
        """Its bytes are OpenSSL's: whoever borrows the file uses `read_now` and `send_now`."""
        return not isinstance(self._socket, socket.socket)

    @property
    def _has_ended(self) -> bool:
        """With TLS, which a selector need not show. Raises what has ended it."""
        if isinstance(self._socket, socket.socket) or not self._socket.has_ended:
            return False
        self._socket.check()
        return True

    def read_now(self, view: memoryview) -> int:
        """For whoever borrows the file; 0: nothing is there for now."""
        try:
            count = self._socket.recv_into(view)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._lost("was lost", error) from error
        if not count:
            raise self._closed()
        return count

    def send_now(self, piece: memoryview) -> int:
        """For whoever borrows the file: how much of it was sent. What was not is to be given again, unchanged."""
        sent = 0
        try:
            while sent < len(piece):
                sent += self._socket.sendmsg([piece[sent:]])
        except BlockingIOError:
            pass
        except OSError as error:
            self._failure = self._lost("was lost while sending", error)
            raise self._failure from error
        return sent

    def take_back(
        self, correlation: int, pending: Iterable[Pending], read: memoryview, unsent: Sequence[bytes] = ()
    ) -> None:
        """What was asked meanwhile and not answered; what was read and not used; what must be sent first."""
        self._correlation, self.pending = correlation, deque(pending)
        self._answers += 1
        self.used_at = time.monotonic()
        self._inbox.give_back(read)
        self._out.extend(unsent)
        self._unsent += sum(map(len, unsent))

    @property
    def must_renew_at(self) -> float:
        return self._renew_at

    @property
    def client(self) -> bytes:
        """As requests name it."""
        return self._client

    def overdue(self, now: float) -> bool:
        return bool(self.pending) and self.pending[0].deadline < now

    def call(
        self,
        request: Any,
        *,
        version: int | None = None,
        most_version: int | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Any:
        """Send a control message (a kafka-python request) and wait for its response."""
        version = self._pick_version(request, most_version) if version is None else version
        flexible = type(request).flexible_version_q(version)
        response_class = request_response_class(request)
        body = bytes(request.encode(version=version))
        # ApiVersions has a classic response header in every version (KIP-511).
        answer_flexible = flexible and request.API_KEY != ApiVersionsRequest.API_KEY
        self.send(request.API_KEY, version, [body], flexible=flexible, timeout_s=timeout_s)
        self.pending[-1].flexible = answer_flexible
        self.pending[-1].most_bytes = LARGEST_DECODED_BYTES
        return decode_response(response_class, self.wait(timeout_s), version, str(self))

    def wait(self, timeout_s: float) -> memoryview:
        """The next answer's frame; the blocking counterpart of `receive`."""
        until = time.monotonic() + timeout_s
        while True:
            for _, frame in self.receive():
                return frame
            left = time_left(until - time.monotonic())
            if left <= 0:
                raise ConnectionLostError(f"{self} did not answer within {timeout_s:g} s")
            ready = select.poll()  # `select` knows no more than 1,024 files
            try:
                ready.register(self, select.POLLIN | (select.POLLOUT if self.wants_write else 0))
            except ValueError:  # another thread has closed it
                raise self._closed("was closed on this side") from None
            ready.poll(1000 * left)
            self.flush()

    def _pick_version(self, request: Any, most: int | None) -> int:
        low, high = self.versions.get(request.API_KEY, (0, -1))
        version = min(high, type(request).max_version, type(request).max_version if most is None else most)
        if version < low or version < 0:
            raise BrokerError(codes.UNSUPPORTED_VERSION, f"{self} does not know {type(request).__name__}")
        return int(version)

    # -- who we are

    def _authenticate(self, until: float) -> None:
        """On a connection that is new."""
        login = self._log_in(may_wait=True)
        with deadline(max(0.0, until - time.monotonic()), SETUP_TIMEOUT):
            request = login.start()
        while request is not None:
            request = login.take(self.call(request, timeout_s=max(0.0, until - time.monotonic())))
        self._renew_at = time.monotonic() + login.renew_after_s

    def _log_in(self, *, may_wait: bool) -> Authentication:
        from sparkmirror.net.sasl.authentication import Authentication  # noqa: PLC0415 - only who needs it loads it

        return Authentication(self._security, self.host, str(self), may_wait=may_wait)

    def _ask_sasl(self, request: Any) -> None:
        """Behind all that is under way, and before all that is held back."""
        version = self._pick_version(request, None)
        flexible = type(request).flexible_version_q(version)
        step = _SaslStep(request_response_class(request), version)
        body = bytes(request.encode(version=version))
        deadline = time.monotonic() + self.request_timeout_s
        pending = self._queue(self._out, request.API_KEY, version, [body], flexible, step, deadline)
        if self._held:
            self.pending.appendleft(pending)
        else:
            self.pending.append(pending)

    def _take_sasl(self, step: _SaslStep, body: memoryview) -> None:
        assert self._renewal is not None
        request = self._renewal.take(decode_response(step.response_class, body, step.version, str(self)))
        if request is not None:
            self._ask_sasl(request)
        else:
            self._renew_at = time.monotonic() + self._renewal.renew_after_s
            self._renewal = None
            self._out.extend(self._held)
            self._held.clear()
        self.flush()

    def _negotiate(self, timeout_s: float) -> None:
        response = self.call(
            ApiVersionsRequest(client_software_name="sparkmirror", client_software_version="0"),
            version=3,
            timeout_s=timeout_s,
        )
        if response.error_code == codes.UNSUPPORTED_VERSION:  # a broker before 2.4 answers in version 0
            response = self.call(ApiVersionsRequest(), version=0, timeout_s=timeout_s)
        if response.error_code:
            raise BrokerError(response.error_code, f"{self} refused: {codes.name_of(response.error_code)}")
        self.versions = {k.api_key: (k.min_version, k.max_version) for k in response.api_keys}
        self._answers = 0


def _connect(host: str, port: int, timeout_s: float) -> socket.socket:
    check_place(host, port)
    try:
        return socket.create_connection((host, port), timeout=timeout_s)
    except OSError as error:
        raise ConnectionLostError(f"{host}:{port} can't be reached: {error}") from error


def request_response_class(request: Any) -> Any:
    """The response class that belongs to a kafka-python request."""
    if isinstance(request, ApiVersionsRequest):
        return ApiVersionsResponse
    request.with_header()
    return request.header.get_response_class()[None]
