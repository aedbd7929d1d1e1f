"""Strangers at the desk: refused within a second, cheap, and no hindrance to tasks. And peers that do not listen."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable

from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.desk_keys import make_keys, task_context
from sparkmirror.pipeline.messages import TermOf, to_line
from tests.support.desk_process import desk_process

STRANGERS = 40  # of each of five kinds
REFUSED_S = 1.0
SLACK_S = 1.0  # of a machine that does other things, too
MOST_BYTES = 10 << 20

Attack = Callable[[socket.socket], None]


def say_nothing(_: socket.socket) -> None:
    return


def drip(stranger: socket.socket) -> None:
    for byte in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500):
        stranger.sendall(bytes([byte]))
        time.sleep(0.02)


def say_too_much(stranger: socket.socket) -> None:
    stranger.sendall(b"x" * (4 << 20))


def show_another_key(stranger: socket.socket) -> None:
    desks, _ = make_keys()
    context = desks.context(is_desk=False)
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(stranger) as secure:
        secure.sendall(to_line(TermOf("A->B")))
        while secure.recv(1024):
            raise AssertionError("a stranger was answered")


def record(address: str, keys: str) -> bytes:
    """What a task sends: its handshake and a question."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = task_context(keys).wrap_bio(incoming, outgoing)
    host, _, port = address.rpartition(":")
    sent = b""
    with socket.create_connection((host, int(port))) as plain:
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                secure.do_handshake()
                secure.write(to_line(TermOf("A->B")))
                return sent + outgoing.read()
            data = outgoing.read()
            sent += data
            plain.sendall(data)
            incoming.write(plain.recv(1 << 16))


def refusal_s(address: str, attack: Attack) -> float:
    """Until the desk has closed the connection."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as stranger:
        began = time.monotonic()
        with contextlib.suppress(OSError):  # it was refused while it spoke
            attack(stranger)
        with contextlib.suppress(OSError):
            while stranger.recv(1 << 16):
                pass
        return time.monotonic() - began


def test_strangers_are_refused_soon_and_cost_little_while_tasks_are_served() -> None:
    with desk_process() as desk:
        replayed = record(desk.address, desk.keys)
        attacks: list[Attack] = [say_nothing, drip, say_too_much, show_another_key, lambda s: s.sendall(replayed)]
        Cord(desk.address, desk.keys).close()
        before = most = desk.process.memory_info().rss
        took: list[float] = []
        threads = [
            threading.Thread(target=lambda a=attack: took.append(refusal_s(desk.address, a)))
            for attack in attacks
            for _ in range(STRANGERS)
        ]
        for thread in threads:
            thread.start()
        answers: list[float] = []
        while any(thread.is_alive() for thread in threads):
            began = time.monotonic()
            cord = Cord(desk.address, desk.keys)
            assert cord.term("A->B") == 5.0
            cord.close()
            answers.append(time.monotonic() - began)
            most = max(most, desk.process.memory_info().rss)
        print(f"refused within {max(took):.2f} s, tasks answered within {max(answers):.2f} s, {most - before:,} bytes")
        assert len(took) == len(threads) and max(took) < REFUSED_S + SLACK_S
        assert answers and max(answers) < REFUSED_S + SLACK_S
        assert most - before < MOST_BYTES


def test_a_peer_that_is_known_may_say_no_line_without_end() -> None:
    with desk_process() as desk:
        cord = Cord(desk.address, desk.keys)
        before = desk.process.memory_info().rss
        with contextlib.suppress(OSError):
            for _ in range(64):
                cord._socket.sendall(b"x" * (1 << 20))
        assert cord.term("A->B") == 0.0, "it is cut off"
        assert desk.process.memory_info().rss - before < 48 << 20
        cord.close()
