"""A broker of a few lines on a loopback socket: it says what it was asked, and is silent where a test wants that.

It stands where a real broker can't: one that takes connections and requests and never answers them.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Collection
from typing import BinaryIO, NamedTuple

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

API_VERSIONS, METADATA = ApiVersionsRequest.API_KEY, MetadataRequest.API_KEY
_HEAD = struct.Struct(">hhih")


class Asked(NamedTuple):
    api_key: int
    client_id: str


class Loopback:
    """`silent`: kinds of requests that are never answered. `tls`: it speaks TLS. Node 1 of its own cluster."""

    def __init__(self, silent: Collection[int] = (), tls: ssl.SSLContext | None = None) -> None:
        self._silent = set(silent)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked: list[Asked] = []
        self.connections: list[socket.socket] = []
        self.ended = threading.Semaphore(0)  # released once for each connection that the client has closed
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self.connections):
            each.close()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    def count(self, api_key: int) -> int:
        return sum(asked.api_key == api_key for asked in self.asked)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = shake_hands(self._tls, connection)
            with connection, connection.makefile("rb") as requests:
                self._answer_all(connection, requests)
            self.ended.release()
        except OSError:
            return

    def _answer_all(self, connection: socket.socket, requests: BinaryIO) -> None:
        while size := requests.read(4):
            frame = requests.read(struct.unpack(">i", size)[0])
            api_key, version, correlation, length = _HEAD.unpack_from(frame)
            self.asked.append(Asked(api_key, frame[_HEAD.size : _HEAD.size + length].decode()))
            if api_key not in self._silent:
                answer = struct.pack(">i", correlation) + self._answer(api_key, version)
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, api_key: int, version: int) -> bytes:
        if api_key == API_VERSIONS:
            kind = ApiVersionsResponse.ApiVersion
            known = [kind(api_key=key, min_version=0, max_version=12) for key in (METADATA, API_VERSIONS)]
            answer = ApiVersionsResponse(error_code=0, api_keys=known, throttle_time_ms=0)
            return bytes(answer.encode(version=version))
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port, rack=None)
        metadata = MetadataResponse(throttle_time_ms=0, brokers=[broker], cluster_id="x", controller_id=1, topics=[])
        return b"\0" + bytes(metadata.encode(version=version))


def shake_hands(tls: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
    """Who hangs up with something unread takes back what he said last, and that is why he hangs up."""
    secure = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    with contextlib.ExitStack() as at_failure:
        at_failure.callback(secure.close)
        try:
            secure.do_handshake()
        except ssl.SSLError:
            secure.shutdown(socket.SHUT_WR)
            while secure.recv(4096):
                pass
            raise
        at_failure.pop_all()
    return secure
