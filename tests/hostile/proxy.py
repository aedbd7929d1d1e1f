"""A broker that lies: a proxy in front of a real one, which passes everything on and tells lies where a script says so.

    client --request--> proxy --request--> real broker
           <--lie------       <--answer---

So each lie is told at a moment at which the truth would be: behind a real handshake, in answer to a real question. The
brokers that the metadata names are the proxy itself.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, NamedTuple

from kafka.protocol import admin, consumer, metadata, producer, sasl

RESPONSES: dict[int, Any] = {
    kind.API_KEY: kind
    for module in (admin, consumer, metadata, producer, sasl)
    for name, kind in vars(module).items()
    if name.endswith("Response") and hasattr(kind, "API_KEY")
}
PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, COORDINATOR = 0, 1, 2, 3, 8, 9, 10
DESCRIBE_GROUPS, LIST_GROUPS, HANDSHAKE, API_VERSIONS, PRODUCER_ID, EPOCH_ENDS = 15, 16, 17, 18, 22, 23
ADD_PARTITIONS, END_TXN, MARKERS, CONFIGS, AUTHENTICATE, PRODUCERS, CONSUMER_GROUPS = 24, 26, 27, 32, 36, 61, 69

_HEAD = struct.Struct(">hhi")
_I32 = struct.Struct(">i")
MOST_BYTES = 64 << 20


class Answer(NamedTuple):
    """What the real broker said: `body` behind the response header, `head` that header (with the correlation id)."""

    api_key: int
    version: int
    head: bytes
    body: bytes
    number: int  # how many of this kind the proxy has answered before
    request: bytes

    @property
    def frame(self) -> bytes:
        return framed(self.head + self.body)

    def saying(self, body: bytes) -> bytes:
        """The same answer with another body."""
        return framed(self.head + body)


class Hang:
    """In place of bytes: say nothing more, and keep the connection."""


class Close:
    """In place of bytes: hang up."""


Said = bytes | Hang | Close
# What goes over the wire in the place of an answer, in pieces.
Lie = Callable[[Answer], Iterable[Said]]


def framed(content: bytes) -> bytes:
    return _I32.pack(len(content)) + content


class LyingProxy:
    """`lies`: by kind of request. `asked`: how often each kind was."""

    def __init__(self, upstream: str, lies: dict[int, Lie] | None = None, *, upon_connect: bytes = b"") -> None:
        host, _, port = upstream.rpartition(":")
        self._upstream = (host, int(port))
        self._lies = lies or {}
        self._upon_connect = upon_connect
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = [self._listener]
        self.asked: Counter[int] = Counter()
        self.connections = 0
        self._answered: Counter[int] = Counter()
        self._is_closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> LyingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self._port}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._upstream)
            except OSError:
                return
            self.connections += 1
            self._open += (client, broker)
            waiting: deque[tuple[int, int, bytes]] = deque()
            if self._upon_connect:
                client.sendall(self._upon_connect)
            for target in (self._pass_requests, self._pass_answers):
                threading.Thread(target=self._safely, args=(target, client, broker, waiting), daemon=True).start()

    def _safely(self, work: Callable[..., None], client: socket.socket, broker: socket.socket, waiting: Any) -> None:
        with contextlib.suppress(OSError, ValueError):
            work(client, broker, waiting)
        for each in (client, broker):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _pass_requests(self, client: socket.socket, broker: socket.socket, waiting: deque[Any]) -> None:
        with client.makefile("rb") as requests:
            while (frame := read_frame(requests)) is not None:
                api_key, version, _ = _HEAD.unpack_from(frame)
                self.asked[api_key] += 1
                waiting.append((api_key, version, frame))
                broker.sendall(framed(frame))

    def _pass_answers(self, client: socket.socket, broker: socket.socket, waiting: deque[Any]) -> None:
        with broker.makefile("rb") as answers:
            while (frame := read_frame(answers)) is not None:
                api_key, version, request = waiting.popleft()
                answer = self._redirected(_split(api_key, version, frame, self._answered[api_key], request))
                self._answered[api_key] += 1
                lie = self._lies.get(api_key)
                for said in lie(answer) if lie else [answer.frame]:
                    if isinstance(said, Hang):
                        self._is_closed.wait()
                        return
                    if isinstance(said, Close):
                        return
                    client.sendall(said)

    def _redirected(self, answer: Answer) -> Answer:
        """All brokers are this one."""
        if answer.api_key != METADATA:
            return answer
        said = decode(answer)
        for broker in said.brokers:
            broker.host, broker.port = "127.0.0.1", self._port
        return answer._replace(body=encode(said, answer))


def decode(answer: Answer) -> Any:
    said = RESPONSES[answer.api_key].decode(memoryview(answer.body), version=answer.version)
    said._header = None  # to be encoded again
    return said


def encode(said: Any, answer: Answer) -> bytes:
    return bytes(said.encode(version=answer.version))


def _split(api_key: int, version: int, frame: bytes, number: int, request: bytes) -> Answer:
    size = 5 if is_flexible(api_key, version) else 4
    return Answer(api_key, version, frame[:size], frame[size:], number, request)


def is_flexible(api_key: int, version: int) -> bool:
    """The header of the response; that of ApiVersions is always classic (KIP-511)."""
    kind = RESPONSES.get(api_key)
    return api_key != API_VERSIONS and (kind is None or bool(kind.flexible_version_q(version)))


def read_frame(stream: BinaryIO) -> bytes | None:
    size = stream.read(4)
    if len(size) < 4 or not 0 < _I32.unpack(size)[0] < MOST_BYTES:  # the latter: TLS, where it is none
        return None
    return stream.read(_I32.unpack(size)[0])


def drip(data: bytes, pause_s: float) -> Iterable[bytes]:
    """A byte at a time."""
    for i in range(len(data)):
        time.sleep(pause_s)
        yield data[i : i + 1]
