"""A TCP proxy on loopback that stops forwarding when a test wants it: a network that swallows or holds up bytes."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._swallows = False
        self._flows = threading.Event()
        self._flows.set()
        self._sockets = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._flows.set()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def swallow(self) -> None:
        """From now on nothing arrives, and nobody is told."""
        self._swallows = True

    def hold(self) -> None:
        """From now on nothing arrives until `let_go`."""
        self._flows.clear()

    def let_go(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """Break all connections. Others may be made."""
        for each in self._sockets[1:]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                if not self._swallows:
                    target.sendall(data)
            if not self._swallows:
                target.shutdown(socket.SHUT_WR)
