"""A broker of a few lines that says whatever a script wants, where no real one need stand behind it.

It knows every kind of request in every version that kafka-python knows, and is node 1 of its own cluster.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from tests.hostile.proxy import API_VERSIONS, METADATA, RESPONSES, framed, is_flexible, read_frame

_HEAD = struct.Struct(">hhi")

# The body of an answer, by the request's version; or a message, which is encoded.
Tell = Callable[[int], Any]


class FakeBroker:
    """`upon_connect`: said before anything is asked; with `is_mute` nothing else is said."""

    def __init__(self, answers: Mapping[int, Tell] | None = None, *, upon_connect: bytes = b"", is_mute: bool = False):
        self._answers: dict[int, Tell] = {API_VERSIONS: _versions, METADATA: self._metadata, **(answers or {})}
        self._upon_connect, self._is_mute = upon_connect, is_mute
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._port: int = self._listener.getsockname()[1]
        self._open = [self._listener]
        self.asked: Counter[int] = Counter()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> FakeBroker:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self._port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client, client.makefile("rb") as requests:
            client.sendall(self._upon_connect)
            while (frame := read_frame(requests)) is not None:
                api_key, version, correlation = _HEAD.unpack_from(frame)
                self.asked[api_key] += 1
                if not self._is_mute:
                    client.sendall(framed(self._answer(api_key, version, correlation)))

    def _answer(self, api_key: int, version: int, correlation: int) -> bytes:
        said = self._answers[api_key](version)
        body = said if isinstance(said, bytes) else bytes(said.encode(version=version))
        return struct.pack(">i", correlation) + (b"\0" if is_flexible(api_key, version) else b"") + body

    def _metadata(self, _: int) -> Any:
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self._port, rack=None)
        return MetadataResponse(throttle_time_ms=0, brokers=[broker], cluster_id="x", controller_id=1, topics=[])


def _versions(_: int) -> Any:
    kind = ApiVersionsResponse.ApiVersion
    known = [kind(api_key=k, min_version=0, max_version=r.max_version) for k, r in RESPONSES.items()]
    return ApiVersionsResponse(error_code=0, api_keys=known, throttle_time_ms=0)
