"""The other end of the desk's connections, as planner and tasks hold it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Collection, Mapping, Sequence

from sparkmirror.copy.grantor import Word
from sparkmirror.copy.receipt import Receipt, to_row
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.security import Settings
from sparkmirror.pipeline import messages as m
from sparkmirror.pipeline.desk_keys import ADDRESS_VARIABLE, KEY_VARIABLE, task_context
from sparkmirror.pipeline.desk_server import READ_BYTES, keep_alive
from sparkmirror.topology.standing import Standing

CONNECT_TIMEOUT_S = 20.0
HANDSHAKE_S = 5.0
RETRY_S = 0.1
SEND_S = 10.0
MOST_RECEIPTS = 1_000  # in a line


class Cord:
    """A connection to the desk. Readable while a lease runs: the desk has something to say of it (`hear`)."""

    def __init__(self, address: str, keys: str) -> None:
        self._address, self._keys = address, keys
        self._unread = b""
        self._socket = self._connect()
        self._lease_id = ""
        self._told = 0  # times that receipts were
        self._is_closed = False
        self._noting = threading.Lock()
        self._notes: Cord | None = None  # the scout's threads may wait while the copy goes on

    @classmethod
    def to_desk(cls) -> Cord:
        """In a Python worker of Spark's."""
        return cls(os.environ[ADDRESS_VARIABLE], os.environ[KEY_VARIABLE])

    def _connect(self) -> ssl.SSLSocket:
        """Tried again for a while: the desk gives nobody long to prove who it is, and this machine may be busy."""
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                return self._connect_once()
            except (OSError, ValueError):
                if time.monotonic() >= until:
                    raise
                time.sleep(RETRY_S)

    def _connect_once(self) -> ssl.SSLSocket:
        host, _, port = self._address.rpartition(":")
        plain = socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S)
        with contextlib.ExitStack() as at_failure:
            at_failure.callback(plain.close)
            plain.settimeout(HANDSHAKE_S)
            keep_alive(plain)
            self._socket = task_context(self._keys).wrap_socket(plain)
            at_failure.callback(self._socket.close)
            self._unread = b""
            if not isinstance(self._receive(), m.Welcome):
                raise ValueError("it is not the desk")
            self._socket.settimeout(None)
            at_failure.pop_all()
            return self._socket

    def mend(self) -> bool:
        """Connect anew after it broke. Tried once: the desk may be gone."""
        self._socket.close()
        if not self._is_closed:
            with contextlib.suppress(OSError, ValueError):
                self._socket = self._connect_once()
                return True
        return False

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # who waits for an answer gets none
        self._socket.close()
        if notes := self._notes:
            notes.close()

    # -- the planner's and everybody's

    def next_round(self, query: str, after: int) -> int | None:
        """Waits for it. None if the connection has broken."""
        answer = self._ask(m.NextRound(query, after))
        return answer.number if isinstance(answer, m.RoundIs) else None

    def leases(self, number: int) -> list[str] | None:
        answer = self._ask(m.LeasesOf(number))
        return list(answer.texts) if isinstance(answer, m.LeaseTexts) else None

    def borrow(self, owner: str) -> Settings | None:
        """A client's security settings; None if the desk is gone, or does not know it."""
        answer = self._ask(m.Borrow(owner))
        if not isinstance(answer, m.Lent) or answer.settings is None:
            return None
        return tuple((name, value) for name, value in answer.settings)

    def term(self, flow: str) -> float:
        """For how many seconds rows of the flow may be written, 0: not at all."""
        answer = self._ask(m.TermOf(flow))
        return answer.seconds if isinstance(answer, m.Term) else 0.0

    # -- a lease's

    def wait_for_turn(self, lease_id: str, every_s: float) -> Word | None:
        """None if the lease is void. Asked again and again: the desk gives no turn to a task that is not heard of."""
        self._lease_id = lease_id
        while True:
            self.ask()
            select.select([self._socket], [], [], every_s)
            word = self.hear()
            if word is not None:
                return None if word.ends else word

    def ask(self, load: float | None = None) -> None:
        """For the turn, and then for more time. What is granted counts from now on."""
        with contextlib.suppress(OSError):
            self._send(m.Ask(self._lease_id, time.monotonic(), load))

    def hear(self) -> Word | None:
        """All that was said since; None if nothing was."""
        word: Word | None = None
        self._socket.settimeout(0)
        try:
            while word is None or not word.ends:
                word = _understand(self._receive(), word)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except (OSError, ValueError):
            return Word.end()
        finally:
            with contextlib.suppress(OSError):
                self._socket.settimeout(None)
        return word

    def tell_receipts(self, receipts: Sequence[Receipt]) -> None:
        """What was copied, and what stands still. The desk may be gone: then nobody wants to know."""
        for first in range(0, len(receipts), MOST_RECEIPTS):
            with contextlib.suppress(OSError):
                self._send(m.Told([to_row(receipt) for receipt in receipts[first : first + MOST_RECEIPTS]]))
            self._told += 1

    def note(self, lease_id: str, place: tuple[str, int], standing: Standing) -> None:
        """Have it written where a partition stands, behind all that was told. Waits for it, on any thread."""
        with self._noting:
            answer = self._ask_beside(m.Note(lease_id, self._told, *place, standing))
        why_not = answer.why_not if isinstance(answer, m.Noted) else "the driver does not answer"
        if why_not:
            raise ConnectionLostError(f"where the partition stands was not written: {why_not}")

    def _ask_beside(self, question: m.Message) -> m.Message | None:
        """Over a connection of its own, since somebody listens to this one."""
        if self._is_closed:
            return None
        with contextlib.suppress(OSError, ValueError):
            self._notes = self._notes or Cord(self._address, self._keys)
            if answer := self._notes._ask(question):
                return answer
            self._notes.close()
        self._notes = None
        return None

    def tell_done(
        self, positions: Mapping[tuple[str, int], Standing], under_way: Collection[tuple[str, int]] = ()
    ) -> None:
        """Hand the positions to whoever copies next. The desk may be gone: then nobody waits."""
        told = [[topic, partition, *hint] for (topic, partition), hint in positions.items()]
        with contextlib.suppress(OSError):
            self._send(m.Done(told, [list(place) for place in under_way]))

    # -- lines

    def _ask(self, question: m.Message) -> m.Message | None:
        try:
            self._send(question)
            return self._receive()
        except (OSError, ValueError):
            return None

    def _receive(self) -> m.Message:
        """The next message; those that came with it stay for the next call."""
        while b"\n" not in self._unread:
            more = self._socket.recv(READ_BYTES)
            if not more:
                raise ConnectionResetError("the desk has closed")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return m.read_line(line)

    def _send(self, message: m.Message) -> None:
        """A desk that takes nothing for long is gone: what was sent of a message can't be taken back."""
        self._socket.settimeout(SEND_S)
        try:
            self._socket.sendall(m.to_line(message))
        except OSError:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            raise
        finally:
            with contextlib.suppress(OSError):
                self._socket.settimeout(None)


def _understand(said: m.Message, before: Word | None) -> Word:
    """A grant counts from when it was asked for: it may have lain here for long."""
    if not isinstance(said, m.Grant):
        return Word.end()
    added = {(topic, partition): Standing(*hint) if hint else None for topic, partition, *hint in said.added}
    as_left = frozenset((topic, partition) for topic, partition in said.as_left)
    if before is None:
        return Word(said.at + said.seconds, added, as_left)
    return Word(max(before.until, said.at + said.seconds), {**before.added, **added}, before.as_left | as_left)
