"""Ports that a user chooses for an embedded cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sparkmirror.embedded.ports import HOST, is_free, reserve_chosen_port, reserve_port
from sparkmirror.errors import SetupError


@pytest.fixture
def number() -> int:
    port = reserve_port()
    port.release()
    return port.number


@pytest.fixture
def listener(number: int) -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((HOST, number))
        server.listen()
        yield server


def test_chosen_port_is_reserved(number: int) -> None:
    port = reserve_chosen_port(number)
    assert port.number == number
    port.release()


def test_port_that_somebody_listens_on_is_refused(number: int, listener: socket.socket) -> None:
    assert not is_free(number)
    with pytest.raises(SetupError, match=f"Port {number} on {HOST} is taken"):
        reserve_chosen_port(number)


def test_port_is_free_again_right_after_a_listener_with_connections(number: int, listener: socket.socket) -> None:
    """The side that closes first stays in TIME_WAIT for a minute; a demo must not lose its ports to the last one."""
    client = socket.create_connection((HOST, number), 5)
    accepted, _ = listener.accept()
    accepted.close()
    assert client.recv(1) == b""
    client.close()
    listener.close()
    assert is_free(number)
    reserve_chosen_port(number).release()
