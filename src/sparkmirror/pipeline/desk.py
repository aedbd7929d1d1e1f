"""The driver's lease desk: hands rounds of leases to Spark and says to each task when to go and when to end.

Planner, copy and driver are different processes, so they talk over a small socket, a JSON object a line:

    planner -> {"ask":"round","after":2}               waits until a round is due      <- {"round":4}
    planner -> {"ask":"leases","round":4}                                              <- {"leases":[...]}
    task    -> {"ask":"security","owner":"A->B ..."}                                   <- {"security":"..."} locked
    task    -> {"ask":"lease","lease":"4.0"}           waits for its predecessors      <- {"go":[[topic,0,...]],
                                                                                           "seconds":20.0}
    task    -> {"receipts":[[...],...]}                as things happen
    task    -> {"ask":"note","lease":"4.0","after":7,…} to be written, behind its 7th receipts <- {"noted":true}
    task    -> {"ask":"term","flow":"A->B"}            of rows, which need no lease    <- {"seconds":20.0}
    task    <- {"more":20.0}                           it may last so many seconds from now on
    task    <- {"end":true}                            its successors wait, or it is recalled
    task    -> {"done":[[topic,partition,next,sequence,end],...]}

A round is given to the first query that asks. There are two: while the tasks of round 4 copy, those of round 5 are
started by the other query and wait here. Only when all that copy a flow next are there are those of round 4 told to
end, so a handover costs milliseconds, however long Spark takes to start a task. A connection that closes without
`done` is a task that died. A task whose connection closes ends its lease: when the driver dies, all leases end. When it
only hangs, nobody renews them, and they end soon, too.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt, from_row
from sparkmirror.errors import SparkmirrorError
from sparkmirror.pipeline.cord import ADDRESS_VARIABLE, TOKEN_VARIABLE
from sparkmirror.pipeline.strongbox import KEY_VARIABLE, Strongbox
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.desk")

LINE_BYTES = 64 << 20
ACCEPT_PAUSE_S = 0.1
NOTES_WAIT_S = 10.0

Place = tuple[str, int]


class Phase(Enum):
    PLANNED = "planned"
    THERE = "there"
    GOING = "going"
    DONE = "done"


@dataclass(slots=True)
class LeaseState:
    lease: Lease
    phase: Phase = Phase.PLANNED
    lost: bool = False
    handler: _Handler | None = None
    has_gone: bool = False  # the task was told to go, and listens
    must_end: bool = False
    is_departing: bool = False
    heard: int = 0  # times that it has told receipts
    notes: dict[Place, Standing] = field(default_factory=dict)  # that are being written
    late_notes: dict[Place, Standing] = field(default_factory=dict)  # that were when it said that it was done

    def end(self) -> None:
        """Tell the task to finish what is in flight and return."""
        if self.phase is Phase.GOING and not self.must_end:
            self.must_end = True
            self._tell({"end": True})

    def renew(self, seconds: float) -> None:
        if self.phase is Phase.GOING and not self.must_end:
            self._tell({"more": seconds})

    def note_gone(self) -> None:
        self.has_gone = True
        if self.must_end:
            self._tell({"end": True})

    def _tell(self, message: dict[str, Any]) -> None:
        if self.handler and self.has_gone:
            self.handler.tell(message)


@dataclass(slots=True)
class Round:
    number: int
    states: dict[str, LeaseState] = field(default_factory=dict)

    @property
    def places(self) -> set[tuple[str, str, int]]:
        """(flow, topic, partition) of all that is copied in it."""
        return {place for state in self.states.values() for place in state.lease.places}

    def ended(self) -> bool:
        return all(s.phase is Phase.DONE for s in self.states.values())

    def frays(self) -> bool:
        """Whether a lease has ended, if only one: nobody copies its partitions until the next round."""
        return any(s.phase is Phase.DONE for s in self.states.values())

    def going(self) -> bool:
        return all(s.phase in (Phase.GOING, Phase.DONE) for s in self.states.values())


class Desk:
    """One desk a driver. All state is behind one condition; handlers run on a thread a connection."""

    def __init__(
        self,
        term_of: Callable[[str], float],
        host: str = "127.0.0.1",
        on_receipts: Callable[[list[Receipt]], None] = lambda _: None,
        on_note: Callable[[str, Place, Standing], None] = lambda *_: None,
        strongbox: Strongbox | None = None,
    ) -> None:
        """`term_of`: how long a lease of a flow may last from now on, 0: not at all."""
        self.on_receipts = on_receipts
        self.on_note = on_note
        self.strongbox = strongbox or Strongbox()
        self._term_of = term_of
        self.token = secrets.token_hex(16)
        self.changed = threading.Condition()
        self._rounds: dict[int, Round] = {}
        self._newest = self._taken = -1
        self._hints: dict[tuple[str, str, int], Standing] = {}
        self._closed = False
        self._listener = socket.create_server((host, 0), backlog=128)
        self.address = f"{host}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="desk", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed:
            connection: socket.socket | None = None
            try:
                connection, _ = self._listener.accept()
                threading.Thread(target=_Handler(self, connection).serve, name="desk's line", daemon=True).start()
            except (OSError, RuntimeError) as error:  # no file or thread is left, or whoever came is gone
                if connection is not None:
                    connection.close()
                if not self._closed:
                    log.warning("a task or planner could not be heard: %s", error)
                    time.sleep(ACCEPT_PAUSE_S)

    @property
    def environment(self) -> dict[str, str]:
        """What Python workers need to find it."""
        return {ADDRESS_VARIABLE: self.address, TOKEN_VARIABLE: self.token, KEY_VARIABLE: self.strongbox.key}

    def close(self) -> None:
        """End every lease and let the planners go."""
        with self.changed:
            self._closed = True
            handlers = [s.handler for r in self._rounds.values() for s in r.states.values() if s.handler]
            self.changed.notify_all()
        for handler in handlers:
            handler.tell({"end": True})
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # who waits to accept is woken
        self._listener.close()

    # -- the driver's side

    def publish(self, leases: Iterable[Lease], *, at_once: bool = False) -> Round:
        """A new round. Leases of earlier rounds that have not begun are void; flows that are not in it end.

        `at_once`: all that copy now end, since there are no slots in which others could wait for it.
        """
        with self.changed:
            self._newest += 1
            fresh = Round(self._newest, {lease.lease_id: LeaseState(lease) for lease in leases})
            flows = {state.lease.flow for state in fresh.states.values()}
            for state in self._states():
                if state.phase in (Phase.PLANNED, Phase.THERE):
                    state.phase = Phase.DONE
                elif at_once or state.lease.flow not in flows:
                    state.end()
            self._rounds = {n: r for n, r in self._rounds.items() if not r.ended()} | {self._newest: fresh}
            self.changed.notify_all()
            return fresh

    @property
    def next_number(self) -> int:
        return self._newest + 1

    def recall(self) -> None:
        """Ask every task to finish what is in flight and return. Leases that have not begun are void."""
        with self.changed:
            for state in self._states():
                if state.phase in (Phase.PLANNED, Phase.THERE):
                    state.phase = Phase.DONE
                state.end()
            self.changed.notify_all()

    def renew(self) -> None:
        """Leases may last another term, where there is one."""
        with self.changed:
            for state in self._states():
                if seconds := self._term_of(state.lease.flow):
                    state.renew(seconds)

    def holds(self, flow: str) -> bool:
        """Whether a task copies the flow, or may still begin to."""
        with self.changed:
            return any(s.lease.flow == flow and s.phase is not Phase.DONE for s in self._states())

    def wait(self, predicate: Callable[[], bool], timeout_s: float) -> bool:
        with self.changed:
            return self.changed.wait_for(predicate, timeout_s)

    def hints(self) -> dict[tuple[str, str, int], Standing]:
        """(flow, topic, partition) -> where its last lease stood."""
        with self.changed:
            return dict(self._hints)

    def forget(self, flow: str) -> None:
        """Where its leases stood: somebody else copies it."""
        with self.changed:
            self._hints = {place: hint for place, hint in self._hints.items() if place[0] != flow}

    def _states(self) -> list[LeaseState]:
        return [s for r in self._rounds.values() for s in r.states.values()]

    # -- the connections' side

    def _next_round(self, after: int) -> int:
        """The newest round, for the first that asks; waits until there is one that nobody has."""
        with self.changed:
            self.changed.wait_for(lambda: self._closed or self._newest > self._taken)
            if self._closed:
                return after
            self._taken = self._newest
            return self._newest

    def _leases(self, number: int) -> list[str]:
        with self.changed:
            found = self._rounds.get(number)
            return [s.lease.to_json() for s in found.states.values()] if found else []

    def _arrive(self, lease_id: str, handler: _Handler) -> LeaseState | None:
        """A task is there; None if its lease is void."""
        with self.changed:
            state = self._find(lease_id)
            if state is None or state.phase is not Phase.PLANNED or self._closed:
                return None
            state.phase, state.handler = Phase.THERE, handler
            self._relieve(state.lease.flow)
            self.changed.notify_all()
            return state

    def _relieve(self, flow: str) -> None:
        """When all that copy a flow next are there, those that copy it now may end."""
        of_flow = [(n, s) for n, r in self._rounds.items() for s in r.states.values() if s.lease.flow == flow]
        if all(s.phase is not Phase.PLANNED for n, s in of_flow if n == self._newest):
            for number, state in of_flow:
                if number < self._newest:
                    state.end()

    def _await_turn(self, state: LeaseState) -> dict[str, Any] | None:
        """Wait until no earlier lease of the flow can write; then the newest hints, and how long it may last."""
        number = next(n for n, r in self._rounds.items() if state.lease.lease_id in r.states)

        def free() -> bool:
            earlier = (
                s
                for n, r in self._rounds.items()
                if n < number
                for s in r.states.values()
                if s.lease.flow == state.lease.flow
            )
            void = self._closed or state.phase is Phase.DONE
            return void or all(s.phase is Phase.DONE for s in earlier)

        with self.changed:
            self.changed.wait_for(free)
            seconds = self._term_of(state.lease.flow)
            if self._closed or state.phase is Phase.DONE or not seconds:
                return None
            state.phase = Phase.GOING
            self.changed.notify_all()
            wanted = ((p.topic, p.partition) for p in state.lease.partitions)
            known = ((t, p, self._hints.get((state.lease.flow, t, p))) for t, p in wanted)
            return {"go": [[t, p, *hint] for t, p, hint in known if hint], "seconds": seconds}

    def _find(self, lease_id: str) -> LeaseState | None:
        return next((r.states[lease_id] for r in self._rounds.values() if lease_id in r.states), None)

    def _note_gone(self, state: LeaseState) -> None:
        with self.changed:
            state.note_gone()

    def _take_receipts(self, state: LeaseState, receipts: list[Receipt]) -> None:
        self.on_receipts(receipts)
        with self.changed:
            state.heard += 1
            self.changed.notify_all()

    def _note(self, lease_id: str, after: int, place: Place, standing: Standing) -> str:
        """Why it was not noted. What the task told before is taken before."""
        with self.changed:
            state = self._find(lease_id)
            if state is not None:
                self.changed.wait_for(lambda: state.phase is Phase.DONE or state.heard >= after)
            if state is None or state.phase is not Phase.GOING:
                return "the lease is over"
            state.notes[place] = standing
        try:
            self.on_note(state.lease.flow, place, standing)
            return ""
        except SparkmirrorError as error:
            state.notes.pop(place)
            return str(error)
        finally:
            with self.changed:
                if (noted := state.notes.pop(place, None)) and state.is_departing:
                    state.late_notes[place] = noted
                self.changed.notify_all()

    def _depart(self, state: LeaseState, done: Sequence[Sequence[Any]] | None) -> None:
        with self.changed:
            state.is_departing = True
            self.changed.wait_for(lambda: not state.notes, NOTES_WAIT_S)  # nothing of it is written beside a successor
            state.lost = state.phase is Phase.GOING and done is None
            state.phase, state.handler = Phase.DONE, None
            if state.lost:  # what it did to them is known to the clusters alone
                for p in state.lease.partitions:
                    self._hints.pop((state.lease.flow, p.topic, p.partition), None)
            for topic, partition, *hint in done or ():
                self._hints[state.lease.flow, topic, partition] = Standing(*hint)
            for place, noted in state.late_notes.items():
                self._hints[state.lease.flow, *place] = noted
            self.changed.notify_all()


class _Handler:
    """The desk's end of one connection."""

    def __init__(self, desk: Desk, connection: socket.socket) -> None:
        self.desk = desk
        self._connection = connection
        self._lines = connection.makefile("rb")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve(self) -> None:
        with self._connection, self._lines, contextlib.suppress(OSError, ValueError):
            ask = self._hear()
            while ask is not None and secrets.compare_digest(str(ask.get("token", "")), self.desk.token):
                self._answer(ask)
                ask = self._hear()

    def _answer(self, ask: dict[str, Any]) -> None:
        kind = ask.get("ask")
        if kind == "round":
            self.tell({"round": self.desk._next_round(int(ask["after"]))})
        elif kind == "leases":
            self.tell({"leases": self.desk._leases(int(ask["round"]))})
        elif kind == "security":
            self.tell({"security": self.desk.strongbox.lend(str(ask["owner"]))})
        elif kind == "term":
            self.tell({"seconds": self.desk._term_of(str(ask["flow"]))})
        elif kind == "note":
            topic, partition = ask["place"]
            standing = Standing(*ask["standing"])
            why_not = self.desk._note(str(ask["lease"]), int(ask["after"]), (topic, partition), standing)
            self.tell({"refused": why_not} if why_not else {"noted": True})
        elif kind == "lease":
            self._serve_lease(str(ask["lease"]))

    def _serve_lease(self, lease_id: str) -> None:
        state = self.desk._arrive(lease_id, self)
        if state is None:
            self.tell({"end": True})
            return
        done: Sequence[Any] | None = None
        try:
            turn = self.desk._await_turn(state)
            if turn is None:
                self.tell({"end": True})
                return
            self.tell(turn)
            self.desk._note_gone(state)
            said = self._hear()
            while said and "receipts" in said:
                self.desk._take_receipts(state, [from_row(row) for row in said["receipts"]])
                said = self._hear()
            done = said.get("done") if said else None
        except (OSError, ValueError):
            self.connection_lost()  # a task that can't be understood must not copy on
        finally:
            self.desk._depart(state, done)

    def _hear(self) -> dict[str, Any] | None:
        line = self._lines.readline(LINE_BYTES)
        if not line:
            return None
        said = json.loads(line)
        return said if isinstance(said, dict) else None

    def tell(self, message: dict[str, Any]) -> None:
        try:
            self._connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except (OSError, ValueError):
            self.connection_lost()

    def connection_lost(self) -> None:
        with contextlib.suppress(OSError):  # it is closed already
            self._connection.shutdown(socket.SHUT_RDWR)
