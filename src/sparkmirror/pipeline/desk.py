"""The driver's lease desk: hands rounds of leases to Spark and says to each task what it may copy, and until when.

Planner, tasks and driver are different processes, so they talk over connections (`desk_server.py`) in messages
(`messages.py`); who may write what is decided by a table (`lease_table.py`).

A round is given to the first query that asks. There are two: while the tasks of round 4 copy, those of round 5 are
started by the other query and wait here. Only when all that copy a flow next are there are those of round 4 told to
end, so a handover costs milliseconds, however long Spark takes to start a task. A connection that the task's side
closes without `Done` is a task that died. A task whose connection closes ends its lease: when the driver dies, all
leases end. When driver or task only hang nothing is renewed, and leases end soon, too.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt, from_row
from sparkmirror.errors import SetupError, SparkmirrorError
from sparkmirror.pipeline import messages as m
from sparkmirror.pipeline.desk_keys import ADDRESS_VARIABLE, KEY_VARIABLE, make_keys
from sparkmirror.pipeline.desk_server import DeskServer, Line
from sparkmirror.pipeline.lease_table import Given, Key, LeaseState, LeaseTable, Phase, Round
from sparkmirror.pipeline.strongbox import Strongbox
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.desk")

STUCK_S = 5.0  # a query whose round is over for so long and who does not ask for the next has a task that hangs

Place = tuple[str, int]


class Desk:
    """One desk a driver. The table is behind one condition; messages come on the server's thread, which never waits.

    Receipts are taken by one thread, in order. What waits for a broker has threads of its own.
    """

    def __init__(
        self,
        term_of: Callable[[str], float],
        host: str = "127.0.0.1",
        on_receipts: Callable[[list[Receipt]], None] = lambda _: None,
        on_note: Callable[[str, Place, Standing], None] = lambda *_: None,
        strongbox: Strongbox | None = None,
        bind: str = "",
        is_current: Callable[[Lease], bool] = lambda _: True,
        lead_of: Callable[[str], int] = lambda _: 0,
    ) -> None:
        """`term_of`, `is_current`, `lead_of`: see `LeaseTable`. `host`: where tasks find it."""
        self.on_receipts = on_receipts
        self.on_note = on_note
        self.strongbox = strongbox or Strongbox()
        self.changed = threading.Condition()
        self.table = LeaseTable(term_of, is_current, lead_of)
        self._lines: dict[LeaseState, Line] = {}
        self._planners: list[tuple[Line, m.NextRound]] = []
        self._taken = -1
        self._rounds_of: dict[str, Round] = {}  # by query, the last one that it took
        self._due: float | None = None
        self._hearing: LeaseState | None = None  # whose receipts are being taken
        self._closed = False
        self._told: SimpleQueue[Callable[[], None]] = SimpleQueue()
        mine, self._keys = make_keys()
        try:
            self._server = DeskServer(self, mine.context(is_desk=True), bind or host)
        except OSError as error:
            raise SetupError(
                f"the driver can't listen at {bind or host}: {error}; set spark.driver.bindAddress to an address of "
                "this machine"
            ) from error
        self.address = f"{host}:{self._server.port}"
        threading.Thread(target=self._take_all_told, name="desk's clerk", daemon=True).start()
        self._server.start()

    @property
    def environment(self) -> dict[str, str]:
        """What Python workers need to find it and to be known to it."""
        return {ADDRESS_VARIABLE: self.address, KEY_VARIABLE: self._keys.to_text()}

    def close(self) -> None:
        """End every lease and let the planners go."""
        with self.changed:
            self._closed = True
            self.table.recall()
            self._advance()
        self._server.close()
        self._told.put(_look_again)

    # -- the driver's side

    def publish(self, leases: Iterable[Lease], *, at_once: bool = False) -> Round:
        """A new round; with `at_once` all that copy now end, since there are no slots in which others could wait."""
        with self.changed:
            fresh = self.table.publish(leases, at_once=at_once)
            self._advance()
            return fresh

    @property
    def next_number(self) -> int:
        return self.table.newest + 1

    def is_taken(self, number: int) -> bool:
        """Whether Spark has come for a round."""
        return self._taken >= number

    def recall(self, *, before: int | None = None) -> None:
        """Ask every task, or those of rounds before that one, to finish what is in flight and return."""
        with self.changed:
            self.table.recall(before=before)
            self._advance()

    def holds(self, flow: str) -> bool:
        """Whether a task copies the flow, or may still begin to."""
        with self.changed:
            return any(s.lease.flow == flow and s.is_held for s in self.table.states())

    def count_out(self) -> int:
        """Tasks that copy, or wait to."""
        with self.changed:
            return sum(state.is_out for state in self.table.states())

    def take_stuck(self) -> list[str]:
        """Queries that have not come back since their round is over. Each is said once."""
        with self.changed:
            late = time.monotonic() - STUCK_S
            stuck = [q for q, r in self._rounds_of.items() if r.over_at is not None and r.over_at <= late]
            for query in stuck:
                del self._rounds_of[query]
            return stuck

    def loads(self, flow: str) -> list[float | None]:
        """Of the tasks of the newest round that are for the flow, as they have told."""
        with self.changed:
            return self.table.loads(flow)

    def wait(self, predicate: Callable[[], bool], timeout_s: float) -> bool:
        with self.changed:
            return self.changed.wait_for(predicate, timeout_s)

    def hints(self) -> dict[Key, Standing]:
        """(flow, topic, partition) -> where it stands, by all that its leases have said."""
        with self.changed:
            return dict(self.table.hints)

    def forget(self, flow: str) -> None:
        """Where its leases stood: somebody else copies it."""
        with self.changed:
            self.table.forget(flow)

    # -- the server's thread

    def due_s(self) -> float | None:
        with self.changed:
            if self._due is not None and time.monotonic() >= self._due:
                self._advance()
            return None if self._due is None else self._due - time.monotonic()

    def serve(self, line: Line, message: m.Message) -> None:
        if isinstance(message, m.Ask):
            self._take_ask(line, message)
        elif isinstance(message, m.NextRound):
            self._take_planner(line, message)
        elif isinstance(message, m.LeasesOf):
            with self.changed:
                found = self.table.round(message.number)
            texts = [s.lease.to_json() for s in found.states.values()] if found else []
            self._server.say(line, m.LeaseTexts(texts))
        elif isinstance(message, m.TermOf):
            self._server.say(line, m.Term(self.table.term_of(message.flow)))
        elif isinstance(message, m.Borrow):
            self._start(self._beside(line, lambda: m.Lent(self.strongbox.lend(message.owner))))
        elif isinstance(message, m.Note):
            self._start(self._beside(line, lambda: m.Noted(self._note(message))))
        elif isinstance(message, m.Told | m.Done) and isinstance(line.owner, LeaseState):
            take = functools.partial(self._take_told, line.owner, message)
            self._told.put(self._beside(line, take))
        else:
            raise ValueError(f"{type(message).__name__} is not for the desk")

    def lost(self, line: Line, *, is_dead: bool) -> None:
        with self.changed:
            self._planners = [each for each in self._planners if each[0] is not line]
            state = line.owner
            if isinstance(state, LeaseState):
                self._lines.pop(state, None)
                if is_dead:
                    self.table.leave(state, None, time.monotonic())
                else:
                    self.table.cut_off(state)
            self._advance()

    def _take_ask(self, line: Line, ask: m.Ask) -> None:
        now = time.monotonic()
        with self.changed:
            state = line.owner
            if isinstance(state, LeaseState):
                self._tell(self.table.ask_again(state, ask.at, now, ask.load))
            elif state := self.table.ask(ask.lease_id, ask.at, now):
                line.owner = state
                self._lines[state] = line
            else:
                self._server.say(line, m.End())
            self._advance()

    def _take_planner(self, line: Line, asked: m.NextRound) -> None:
        with self.changed:
            self._rounds_of.pop(asked.query, None)
            self._planners.append((line, asked))
            self._advance()

    def _advance(self) -> None:
        """Say all that follows. The condition is held."""
        now = time.monotonic()
        for said in self.table.advance(now):
            if isinstance(said, Given):
                self._tell(said)
            elif line := self._lines.get(said.state):
                self._server.say(line, m.End())
        while self._planners and (self._closed or self._taken < self.table.newest):
            line, asked = self._planners.pop(0)
            if not self._closed:
                self._taken = self.table.newest
                if taken := self.table.round(self._taken):
                    self._rounds_of[asked.query] = taken
            self._server.say(line, m.RoundIs(asked.after if self._closed else self._taken))
        self._due = self.table.next_due(now)
        self.changed.notify_all()
        self._server.soon(_look_again)

    def _tell(self, given: Given | None) -> None:
        line = self._lines.get(given.state) if given else None
        if given and line:
            added = [[key[1], key[2], *(hint or ())] for key, hint in given.added.items()]
            as_left = [key[1:] for key in given.as_left]
            self._server.say(line, m.Grant(added, as_left, given.seconds, given.state.stamp))

    # -- threads that may wait

    def _beside(self, line: Line, work: Callable[[], m.Message | None]) -> Callable[[], None]:
        """To be done on another thread. Nothing more is read of the line until it is."""

        def run() -> None:
            try:
                answer = work()
            except Exception as error:  # a task that can't be understood must not copy on
                log.warning("a task is cut off: what it says can't be taken: %s", error)
                self._server.cut_off(line)
                return
            if answer is not None:
                self._server.say(line, answer)
            self._server.resume(line)

        self._server.pause(line)
        return run

    def _start(self, run: Callable[[], None]) -> None:
        threading.Thread(target=run, name="desk's note", daemon=True).start()

    def _take_all_told(self) -> None:
        while not self._closed:
            self._told.get()()

    def _take_told(self, state: LeaseState, message: m.Told | m.Done) -> None:
        if isinstance(message, m.Told):
            self._take_receipts(state, [from_row(row) for row in message.receipts])
            return
        flow = state.lease.flow
        done = {(flow, topic, partition): Standing(*hint) for topic, partition, *hint in message.positions}
        under_way = {(flow, topic, partition) for topic, partition in message.under_way}
        with self.changed:
            self.table.leave(state, done, time.monotonic(), under_way)
            self._advance()

    def _take_receipts(self, state: LeaseState, receipts: list[Receipt]) -> None:
        """Those of partitions that the lease does not hold any more say only what was counted: whoever copies them next
        finds in both logs what is there, and what it has noted since must stand.
        """
        keys = [(receipt.flow, receipt.topic, receipt.partition) for receipt in receipts]
        standings = {
            key: standing for key, receipt in zip(keys, receipts, strict=True) if (standing := receipt.standing)
        }
        with self.changed:
            self._hearing = state
            held = set(state.held)
        try:
            told = (receipt if key in held else receipt.late() for key, receipt in zip(keys, receipts, strict=True))
            self.on_receipts([receipt for receipt in told if receipt])
            with self.changed:
                self.table.take_told(state, standings)
        finally:
            with self.changed:
                self._hearing = None
                state.heard += 1
                self.changed.notify_all()

    def _note(self, note: m.Note) -> str:
        """Why it was not noted. What the task told before is taken before, and so is what others are being heard of."""
        standing = Standing(*note.standing)
        with self.changed:
            state = self.table.find(note.lease_id)
            if state is None:
                return "the lease is over"
            self.changed.wait_for(
                lambda: (
                    self._closed
                    or state.phase is Phase.DONE
                    or (state.heard >= note.after and self._hearing in (None, state))
                )
            )
            key = (state.lease.flow, note.topic, note.partition)
            if not self.table.begin_note(state, key, standing, time.monotonic()):
                return "the lease is over"
        why_not = "it failed"
        try:
            self.on_note(state.lease.flow, key[1:], standing)
            why_not = ""
        except SparkmirrorError as error:
            why_not = str(error)
        finally:
            with self.changed:
                self.table.end_note(state, key, written=not why_not)
                self._advance()
        return why_not


def _look_again() -> None:
    """Something else may be due first."""
