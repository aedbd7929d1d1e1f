"""The desk's connections, all on one thread: TLS, lines in and out, and bounds on what anybody may cost.

A peer that has not proved to hold the tasks' key is a stranger: it has a second to do so, is one of few, and gives way
to those that come later. Nothing that it says is read. The server never waits for a peer that does not listen: what is
said to it is kept up to a bound, then it is cut off.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Protocol

from sparkmirror.pipeline.messages import Message, Welcome, read_line, to_line

log = logging.getLogger("sparkmirror.desk")

HANDSHAKE_S = 0.9
MOST_STRANGERS = 64
MOST_LINES = 4096
LINE_BYTES = 16 << 20
UNSENT_BYTES = 1 << 20  # beside one message of any size
READ_BYTES = 1 << 16
ACCEPT_PAUSE_S = 0.1
FLUSH_S = 1.0
LONGEST_S = 3600.0


class Host(Protocol):
    """Who answers. All of it is called on the server's thread, and must not wait."""

    def serve(self, line: Line, message: Message) -> None: ...

    def lost(self, line: Line, *, is_dead: bool) -> None:
        """`is_dead`: the other side has closed it. Else it may not even know that it is cut off."""

    def due_s(self) -> float | None:
        """Do what is due; seconds until something is by itself."""


class Line:
    """One connection. `owner`: whatever the host keeps with it."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.socket = connection
        self.until = time.monotonic() + HANDSHAKE_S
        self.is_known = False
        self.is_paused = False
        self.is_gone = False
        self.owner: object = None
        self.unread = bytearray()
        self.unsent = bytearray()

    @property
    def events(self) -> int:
        wants = 0 if self.is_paused else selectors.EVENT_READ
        return wants | (selectors.EVENT_WRITE if self.unsent else 0)


class DeskServer:
    def __init__(self, host: Host, context: ssl.SSLContext, bind: str) -> None:
        self._host = host
        self._context = context
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        self._listener = socket.create_server((bind.strip("[]"), 0), family=family, backlog=256)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._lines: dict[Line, None] = {}  # known ones
        self._strangers: dict[Line, None] = {}  # the oldest first
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._close_by: float | None = None
        self._thread = threading.Thread(target=self._run, name="desk", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Say what is left to say, and close all connections."""
        self.soon(self._begin_close)
        if threading.current_thread() is not self._thread:
            self._thread.join(2 * FLUSH_S)

    def _begin_close(self) -> None:
        self._close_by = time.monotonic() + FLUSH_S

    # -- for every thread

    def soon(self, call: Callable[[], None]) -> None:
        """On the server's thread."""
        self._calls.put(call)
        if threading.get_ident() != self._thread.ident:
            with contextlib.suppress(OSError):  # it is closed
                self._bell.send(b"!")

    def say(self, line: Line, message: Message) -> None:
        data = to_line(message)
        self.soon(lambda: self._say(line, data))

    def resume(self, line: Line) -> None:
        """Read on, after `pause`."""
        self.soon(lambda: self._resume(line))

    def cut_off(self, line: Line) -> None:
        self.soon(lambda: self._drop(line, is_dead=False))

    def pause(self, line: Line) -> None:
        """Read no more of it until its last message is dealt with. On the server's thread."""
        line.is_paused = True

    # -- the server's thread

    def _run(self) -> None:
        while self._close_by is None or (time.monotonic() < self._close_by and any(x.unsent for x in self._lines)):
            try:
                self._turn()
            except Exception:  # whatever it is: without this thread all leases would end
                log.exception("the desk goes on")
                time.sleep(ACCEPT_PAUSE_S)
        for line in (*self._lines, *self._strangers):
            line.socket.close()
        self._selector.close()
        for each in (self._listener, self._ear, self._bell):
            each.close()

    def _turn(self) -> None:
        self._make_calls()
        due_s = self._host.due_s()
        for key, events in self._selector.select(self._pause_s(due_s)):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._ear:
                self._ear.recv(4096)
            else:
                self._serve(key.data, events)
        self._drop_overdue()

    def _pause_s(self, due_s: float | None) -> float:
        pauses = [LONGEST_S if due_s is None else due_s, LONGEST_S if self._calls.empty() else 0.0]
        if oldest := next(iter(self._strangers), None):
            pauses.append(oldest.until - time.monotonic())
        if self._close_by is not None:
            pauses.append(ACCEPT_PAUSE_S)
        return max(0.0, min(pauses))

    def _make_calls(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._calls.get_nowait()()

    def _accept(self) -> None:
        connection: socket.socket | None = None
        try:
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            keep_alive(connection)
            connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            line = Line(connection)
        except BlockingIOError:
            return
        except (OSError, ValueError) as error:  # no file is left, or whoever came is gone
            if connection is not None:
                connection.close()
            log.warning("a task or planner could not be heard: %s", error)
            time.sleep(ACCEPT_PAUSE_S)
            return
        if len(self._strangers) >= MOST_STRANGERS:
            self._forget(next(iter(self._strangers)))
        self._strangers[line] = None
        self._selector.register(line.socket, selectors.EVENT_READ, line)

    def _drop_overdue(self) -> None:
        now = time.monotonic()
        for line in [line for line in self._strangers if line.until <= now]:
            self._forget(line)

    def _serve(self, line: Line, events: int) -> None:
        if line not in self._strangers and line not in self._lines:
            return  # it was closed in this turn
        try:
            if not line.is_known:
                self._shake_hands(line)
            if line.is_known and events & selectors.EVENT_WRITE:
                self._send(line)
            if line.is_known and not line.is_paused:
                self._read(line)
        except (ConnectionResetError, BrokenPipeError):
            self._drop(line, is_dead=True)
        except (OSError, ValueError, TypeError) as error:
            log.debug("a connection is cut off: %s", error)
            self._drop(line, is_dead=False)
        except Exception:
            log.exception("a connection is cut off")
            self._drop(line, is_dead=False)
        else:
            self._watch(line)

    def _shake_hands(self, line: Line) -> None:
        try:
            line.socket.do_handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(line.socket, selectors.EVENT_READ, line)
            return
        except ssl.SSLWantWriteError:
            self._selector.modify(line.socket, selectors.EVENT_WRITE, line)
            return
        if len(self._lines) >= MOST_LINES:
            raise OSError("too many connections")
        del self._strangers[line]
        self._lines[line] = None
        line.is_known = True
        self._say(line, to_line(Welcome()))

    def _read(self, line: Line) -> None:
        """Until there is no more, also of what OpenSSL holds: no selector sees that."""
        self._take_lines(line)
        while not line.is_paused and line in self._lines:
            try:
                data = line.socket.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                raise ConnectionResetError("closed by the other side")
            line.unread += data
            if b"\n" in data:
                self._take_lines(line)
            if len(line.unread) > LINE_BYTES and not line.is_paused:
                raise ValueError("a line is too long")

    def _take_lines(self, line: Line) -> None:
        while not line.is_paused and (end := line.unread.find(b"\n")) >= 0:
            text = bytes(line.unread[:end])
            del line.unread[: end + 1]
            self._host.serve(line, read_line(text))

    def _say(self, line: Line, data: bytes) -> None:
        if line not in self._lines or line.is_gone:
            return
        is_deaf = len(line.unsent) > UNSENT_BYTES
        line.unsent += data
        try:
            if is_deaf:
                raise TimeoutError("it does not listen")
            self._send(line)
        except OSError:
            self._drop(line, is_dead=False)
        else:
            self._watch(line)

    def _send(self, line: Line) -> None:
        try:
            while line.unsent:
                sent = line.socket.send(bytes(line.unsent[:READ_BYTES]))
                del line.unsent[:sent]
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return
        except (ConnectionResetError, BrokenPipeError):
            line.is_gone = True  # what it said before is still to be read, and then its end
            line.unsent.clear()

    def _resume(self, line: Line) -> None:
        line.is_paused = False
        if line in self._lines:
            self._serve(line, 0)

    def _watch(self, line: Line) -> None:
        if not line.is_known or line not in self._lines:
            return
        is_registered = line.socket in self._selector.get_map()
        if is_registered and line.events:
            self._selector.modify(line.socket, line.events, line)
        elif is_registered:
            self._selector.unregister(line.socket)
        elif line.events:
            self._selector.register(line.socket, line.events, line)

    def _drop(self, line: Line, *, is_dead: bool) -> None:
        was_known = line in self._lines
        self._forget(line)
        if was_known:
            self._host.lost(line, is_dead=is_dead)

    def _forget(self, line: Line) -> None:
        self._strangers.pop(line, None)
        self._lines.pop(line, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(line.socket)
        line.socket.close()


def keep_alive(connection: socket.socket) -> None:
    """Small messages go at once; a peer whose machine has vanished is noticed within seconds."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 5), ("TCP_USER_TIMEOUT", 15_000)):
        if hasattr(socket, name):  # not every system has them
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
