"""The other end of the desk's connections, as planner and tasks hold it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sparkmirror.copy.receipt import Receipt, to_row
from sparkmirror.errors import ConnectionLostError
from sparkmirror.topology.standing import Standing

CONNECT_TIMEOUT_S = 20.0
READ_BYTES = 1 << 16
MOST_RECEIPTS = 10_000  # in a line
ADDRESS_VARIABLE, TOKEN_VARIABLE = "SPARKMIRROR_DESK", "SPARKMIRROR_DESK_TOKEN"


class Turn(NamedTuple):
    """A lease may begin: where a predecessor left off, by partition, and for how long."""

    hints: Mapping[tuple[str, int], Standing]
    seconds: float


class Cord:
    """A connection to the desk. Readable while a lease runs: the desk has something to say of it (`hear`)."""

    def __init__(self, address: str, token: str) -> None:
        host, _, port = address.rpartition(":")
        self._address, self._token = address, token
        self._socket = socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(None)
        self._unread = b""
        self._told = 0  # times that receipts were
        self._is_closed = False
        self._noting = threading.Lock()
        self._notes: Cord | None = None  # the scout's threads may wait while the copy goes on

    @classmethod
    def to_desk(cls) -> Cord:
        """In a Python worker of Spark's."""
        return cls(os.environ[ADDRESS_VARIABLE], os.environ[TOKEN_VARIABLE])

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # who waits for an answer gets none
        self._socket.close()
        if notes := self._notes:
            notes.close()

    def next_round(self, after: int) -> int:
        answer = self._ask({"ask": "round", "after": after})
        return int(answer["round"]) if answer else after

    def leases(self, number: int) -> list[str]:
        answer = self._ask({"ask": "leases", "round": number})
        return list(answer["leases"]) if answer else []

    def borrow(self, owner: str) -> str:
        """A client's security settings, locked; empty if the desk is gone."""
        answer = self._ask({"ask": "security", "owner": owner})
        return str(answer["security"]) if answer else ""

    def wait_for_turn(self, lease_id: str) -> Turn | None:
        """None if the lease is void."""
        answer = self._ask({"ask": "lease", "lease": lease_id})
        if not answer or "go" not in answer:
            return None
        hints = {(topic, partition): Standing(*hint) for topic, partition, *hint in answer["go"]}
        return Turn(hints, float(answer["seconds"]))

    def term(self, flow: str) -> float:
        """For how many seconds rows of the flow may be written, 0: not at all."""
        answer = self._ask({"ask": "term", "flow": flow})
        return float(answer["seconds"]) if answer else 0.0

    def hear(self) -> float | None:
        """For how many more seconds the lease may last, 0: it must end. None if nothing was said."""
        seconds = None
        try:
            while seconds != 0:
                seconds = float(self._receive(socket.MSG_DONTWAIT).get("more", 0))
        except BlockingIOError:
            return seconds
        except (OSError, ValueError):
            return 0.0
        return seconds

    def tell_receipts(self, receipts: Sequence[Receipt]) -> None:
        """What was copied, and what stands still. The desk may be gone: then nobody wants to know."""
        for first in range(0, len(receipts), MOST_RECEIPTS):
            with contextlib.suppress(OSError):
                self._send({"receipts": [to_row(receipt) for receipt in receipts[first : first + MOST_RECEIPTS]]})
            self._told += 1

    def note(self, lease_id: str, place: tuple[str, int], standing: Standing) -> None:
        """Have it written where a partition stands, behind all that was told. Waits for it, on any thread."""
        what = {"ask": "note", "lease": lease_id, "after": self._told, "place": place, "standing": standing}
        with self._noting:
            answer = self._ask_beside(what) or {"refused": "the driver does not answer"}
        if "noted" not in answer:
            raise ConnectionLostError(f"where the partition stands was not written: {answer.get('refused')}")

    def _ask_beside(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Over a connection of its own, since somebody listens to this one."""
        if self._is_closed:
            return None
        with contextlib.suppress(OSError):
            self._notes = self._notes or Cord(self._address, self._token)
            if answer := self._notes._ask(question):
                return answer
            self._notes.close()
        self._notes = None
        return None

    def tell_done(self, positions: Mapping[tuple[str, int], Standing]) -> None:
        """Hand the positions to whoever copies next. The desk may be gone: then nobody waits."""
        with contextlib.suppress(OSError):
            self._send({"done": [[topic, partition, *hint] for (topic, partition), hint in positions.items()]})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        try:
            self._send(question)
            return self._receive()
        except (OSError, ValueError):
            return None

    def _receive(self, flags: int = 0) -> dict[str, Any]:
        """The next line; lines that came with it stay for the next call."""
        while b"\n" not in self._unread:
            more = self._socket.recv(READ_BYTES, flags)
            if not more:
                raise ConnectionResetError("the desk has closed")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        said = json.loads(line)
        return said if isinstance(said, dict) else {}

    def _send(self, message: dict[str, Any]) -> None:
        message["token"] = self._token
        self._socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
