"""Asks one broker which brokers are alive: one Metadata request over a plain socket.

By hand and not with a client library, since the tests use this room to judge those libraries. Version 1 is
spoken by every Kafka from 0.10 to 4.3.

Request                                Response
  size            i32                    size             i32
  api_key = 3     i16                    correlation_id   i32
  api_version = 1 i16                    brokers          i32 count, then each
  correlation_id  i32                      node_id        i32
  client_id       i16 size, bytes          host           i16 size, bytes
  topics = []     i32 count (none)         port           i32
                                           rack           i16 size (-1: none), bytes
                                         controller_id, topics: not read
"""

from __future__ import annotations

import socket
import struct

CLIENT_ID = b"sparkmirror-embedded"


def fetch_broker_ids(host: str, port: int, timeout_s: float = 2.0) -> frozenset[int]:
    """The ids of all registered, unfenced brokers as this one sees them. OSError if it does not answer."""
    body = struct.pack(">hhih", 3, 1, 1, len(CLIENT_ID)) + CLIENT_ID + struct.pack(">i", 0)
    with socket.create_connection((host, port), timeout_s) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        return read_broker_ids(_receive(connection, size))


def sees_brokers(host: str, port: int, wanted: frozenset[int]) -> bool:
    """Whether this broker answers and holds all of `wanted` for alive."""
    try:
        return wanted <= fetch_broker_ids(host, port)
    except OSError:
        return False


def read_broker_ids(response: bytes) -> frozenset[int]:
    _, count = struct.unpack_from(">ii", response)
    position = 8
    ids = set()
    for _ in range(count):
        node_id, host_size = struct.unpack_from(">ih", response, position)
        position += 6 + host_size + 4
        (rack_size,) = struct.unpack_from(">h", response, position)
        position += 2 + max(rack_size, 0)
        ids.add(node_id)
    return frozenset(ids)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        data = connection.recv(size - len(received))
        if not data:
            raise ConnectionError("the broker closed the connection")
        received += data
    return bytes(received)
