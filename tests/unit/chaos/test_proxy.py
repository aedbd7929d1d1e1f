"""What the proxy does to connections, with an echo in the broker's place."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sparkmirror.embedded.ports import HOST, reserve_port
from tests.chaos.proxy import ANSWERS, REQUESTS, Proxy, ProxyLoop

SHORT_S = 0.3


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(4096):
            self.request.sendall(data)


@dataclass(frozen=True)
class Way:
    proxy: Proxy
    port: int

    def connect(self) -> socket.socket:
        connection = socket.create_connection((HOST, self.port), 5)
        connection.settimeout(5)
        return connection


@pytest.fixture
def way() -> Iterator[Way]:
    port = reserve_port()
    with socketserver.ThreadingTCPServer((HOST, 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        loop = ProxyLoop()
        proxy = Proxy(loop, port.number, server.server_address[1])
        yield Way(proxy, port.number)
        proxy.close()
        loop.close()
        server.shutdown()
    port.release()


def ask(connection: socket.socket, text: bytes = b"hello") -> bytes:
    connection.sendall(text)
    return receive(connection, len(text))


def receive(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (data := connection.recv(size - len(found))):
        found += data
    return found


def assert_silent(connection: socket.socket) -> None:
    connection.settimeout(SHORT_S)
    with pytest.raises(TimeoutError):
        connection.recv(1)
    connection.settimeout(5)


def assert_ended(connection: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""


def test_it_passes_on_what_it_is_given(way: Way) -> None:
    with way.connect() as connection:
        assert ask(connection) == b"hello"
        assert ask(connection, bytes(200_000)) == bytes(200_000)


def test_a_cut_ends_connections_and_takes_new_ones(way: Way) -> None:
    with way.connect() as connection:
        ask(connection)
        way.proxy.cut()
        assert_ended(connection)
    with way.connect() as connection:
        assert ask(connection) == b"hello"


def test_new_connections_are_refused_until_it_heals(way: Way) -> None:
    way.proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        way.connect()
    way.proxy.heal()
    with way.connect() as connection:
        assert ask(connection) == b"hello"


@pytest.mark.parametrize("directions", [(REQUESTS,), (ANSWERS,), (REQUESTS, ANSWERS)])
def test_what_is_held_comes_when_it_heals(way: Way, directions: tuple[str, ...]) -> None:
    with way.connect() as connection:
        way.proxy.hold(*directions)
        connection.sendall(b"late")
        assert_silent(connection)
        way.proxy.heal()
        assert receive(connection, 4) == b"late"


def test_each_piece_is_late_on_a_slow_way(way: Way) -> None:
    with way.connect() as connection:
        way.proxy.delay(SHORT_S)
        began = time.monotonic()
        assert ask(connection) == b"hello"
        assert time.monotonic() - began >= 2 * SHORT_S, "there and back"


def test_an_answer_breaks_off_in_the_middle(way: Way) -> None:
    with way.connect() as connection:
        way.proxy.split()
        connection.sendall(b"answer")
        assert receive(connection, 3) == b"ans"
        assert_ended(connection)
