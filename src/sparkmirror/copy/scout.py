"""Finds leaders, connections and positions for lost cursors, off the copy's loop.

All of it waits for brokers, so it runs on a few threads and hands its findings over a queue. Each target
leader is asked on its own: one that hangs holds up only its own partitions.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from sparkmirror.copy import facts
from sparkmirror.copy.appender import Filled, Fills
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import ALWAYS, Lease
from sparkmirror.copy.limits import LimitRaise
from sparkmirror.copy.log_start import ensure_log_start, fill_up_to_start, why_not_fillable
from sparkmirror.copy.position import Place, Position, PositionFinder
from sparkmirror.errors import BrokerError, MirrorError, SparkmirrorError
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster, Leader, Metadata, group_by
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.protocol import codes
from sparkmirror.topology.standing import Standing

THREADS = 8
SLOW_FILL = 50
SLOW_FILL_S = 5.0

NoteStanding = Callable[[tuple[str, int], Standing], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one cursor: a place to go on from, a fact, or a reason to ask again."""

    cursor: Cursor
    place: Place | None
    result: Position | MirrorError | str


@dataclass(frozen=True, slots=True)
class Connections:
    """Open connections by node, for the loop to adopt."""

    source: dict[int, Channel]
    target: dict[int, Channel]


class Scout:
    """Asks both clusters about cursors; `wakeup` becomes readable when there are findings."""

    def __init__(
        self,
        lease: Lease,
        source: Cluster,
        target: Cluster,
        *,
        unguarded_ok: Callable[[], bool],
        may_write: Callable[[], bool],
        note_standing: NoteStanding,
    ) -> None:
        self._lease = lease
        self._source = source
        self._target = target
        self._may_write = may_write
        self._note_standing = note_standing
        self._finder = PositionFinder(source, target, lease.producer_id, lease.rules, unguarded_ok)
        self.writing = threading.Lock()  # held while a thread of the scout's writes to the target
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="scout")
        self._transactions = EmptyTransactions(target, lease.transactional_id)
        self._found: queue.SimpleQueue[list[Finding] | Connections | list[Filled]] = queue.SimpleQueue()
        self.wakeup, self._bell = socket.socketpair()
        self.wakeup.setblocking(False)

    def ask(self, cursors: Sequence[Cursor], known: tuple[set[int], set[int]]) -> None:
        """`known`: nodes on each side that the loop already has a connection to."""
        self._pool.submit(self._safely, self._look, list(cursors), known)

    def raise_limits(self, cursor: Cursor, wanted: LimitRaise, known: tuple[set[int], set[int]]) -> None:
        """Raise limits of the target topic, then look where the cursor stands."""
        self._pool.submit(self._safely, self._raise_limits, [cursor], (wanted, known))

    def fill(self, fills: Fills) -> None:
        """Fill holes with empty transactions: the slow way, where markers may not be written."""
        self._pool.submit(self._fill, fills)

    def take(self) -> list[list[Finding] | Connections | list[Filled]]:
        """All findings so far."""
        with contextlib.suppress(BlockingIOError):
            self.wakeup.recv(4096)
        out = []
        while not self._found.empty():
            out.append(self._found.get())
        return out

    def close(self) -> None:
        """Give up what is under way: threads that still wait end when their connections are closed."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.wakeup.close()
        self._bell.close()

    def _tell(self, found: list[Finding] | Connections | list[Filled]) -> None:
        self._found.put(found)
        with contextlib.suppress(OSError):  # the lease has ended
            self._bell.send(b"!")

    def _fill(self, fills: Fills) -> None:
        """A few at a time, so that a lease can end in between; the log ends must be the expected ones then."""
        with self.writing:
            try:
                answer = self._write_markers(fills) if self._may_write() else []
            except SparkmirrorError as error:
                code = error.code if isinstance(error, BrokerError) else codes.REQUEST_TIMED_OUT
                answer = [Filled(cursor, 0, code) for cursor, term, _ in fills.values() if term == cursor.term]
        self._tell(answer)

    def _write_markers(self, fills: Fills) -> list[Filled]:
        wanted = {partition: min(number, SLOW_FILL) for partition, (_, _, number) in fills.items()}
        expected = {p: cursor.target_next + wanted[p] for p, (cursor, _, _) in fills.items()}
        self._transactions.write_markers(wanted)
        leaders = {p: Leader(cursor.target_node, -1) for p, (cursor, _, _) in fills.items()}
        deadline = time.monotonic() + SLOW_FILL_S
        while True:
            ends = list_offsets(self._target, leaders, LATEST, log_end=True)
            late = [p for p, end in expected.items() if ends.get(p, -1) < end]
            if not late or time.monotonic() > deadline:
                break
            time.sleep(0.005)  # the coordinator writes a marker after it has answered
        return [
            Filled(cursor, wanted[p], codes.NONE if ends.get(p) == expected[p] else codes.REQUEST_TIMED_OUT)
            for p, (cursor, term, _) in fills.items()
            if term == cursor.term
        ]

    def _raise_limits(self, cursors: list[Cursor], what: tuple[LimitRaise, tuple[set[int], set[int]]]) -> None:
        wanted, known = what
        wanted.apply(self._target, cursors[0].leased.remote)
        self._look(cursors, known)

    def _safely(self, look: Callable[[Any, Any], None], cursors: Any, known: Any) -> None:
        """A cursor that was asked for is answered for, whatever happens: else it would wait for ever."""
        try:
            look(cursors, known)
        except Exception as error:
            kind = "" if isinstance(error, SparkmirrorError) else f"{type(error).__name__}: "
            self._tell([Finding(c, None, f"{kind}{error}") for c in cursors])

    def _look(self, cursors: list[Cursor], known: tuple[set[int], set[int]]) -> None:
        source = self._source.fetch_metadata(sorted({c.leased.topic for c in cursors}))
        target = self._target.fetch_metadata(sorted({c.leased.remote for c in cursors}))
        places: dict[Cursor, Place] = {}
        early = []
        for cursor in cursors:
            found = _place(cursor, source, target)
            if isinstance(found, Place):
                places[cursor] = found
            else:
                early.append(Finding(cursor, None, found))
        if early:
            self._tell(early)
        for group in group_by(list(places), lambda c: _leaders(places[c])).values():
            self._pool.submit(self._safely, self._look_at_leader, {c: places[c] for c in group}, known)

    def _look_at_leader(self, places: dict[Cursor, Place], known: tuple[set[int], set[int]]) -> None:
        cursors = list(places)
        source_node, target_node = _leaders(places[cursors[0]])
        found = self._finder.find([places[c] for c in cursors])
        if found:
            self._tell(
                Connections(
                    {} if source_node in known[0] else {source_node: self._source.connect(source_node)},
                    {} if target_node in known[1] else {target_node: self._target.connect(target_node)},
                )
            )
        waits = "the target's replicas are behind its leader, or an earlier lease may still write"
        self._tell([Finding(c, places[c], waits) for i, c in enumerate(cursors) if i not in found])
        plain = {i: f for i, f in found.items() if isinstance(f, MirrorError) or not (f.is_news or f.log_start)}
        self._tell([Finding(cursors[i], places[cursors[i]], f) for i, f in plain.items()])
        for index in found.keys() - plain.keys():
            cursor = cursors[index]
            self._pool.submit(self._safely, self._prepare, {cursor: (places[cursor], found[index])}, known)

    def _prepare(self, items: dict[Cursor, tuple[Place, Position]], _: object) -> None:
        """What must be done before the first append: say that offsets differ, or let the log begin where it should."""
        for cursor, (place, position) in items.items():
            ready: Position | MirrorError = position
            try:
                ready = self._begin_log(place, position)
            except MirrorError as fact:
                ready = fact
            self._tell([Finding(cursor, place, ready)])

    def _begin_log(self, place: Place, position: Position) -> Position:
        if position.target_next < position.log_start:
            why = why_not_fillable(self._target, place)
            if why and self._lease.rules.preserve == ALWAYS:
                raise facts.not_equal(why)
            if why:
                position = replace(position, log_start=0, translated=why, is_news=True)
        if position.is_news:
            self._note(place, position)
        if position.target_next < position.log_start:
            with self.writing:
                position = fill_up_to_start(
                    self._source, self._target, place, position, self._lease.producer_id, self._may_write
                )
        if position.log_start:
            ensure_log_start(self._target, place, position.log_start)
        return position

    def _note(self, place: Place, position: Position) -> None:
        standing = Standing(
            position.next_offset,
            position.last_sequence,
            position.target_next,
            position.source_epoch,
            position.log_start,
            position.translated,
            place.source_id,
            place.target_id,
        )
        self._note_standing((place.source.name, place.partition), standing)


def _leaders(place: Place) -> tuple[int, int]:
    return place.source.leaders[place.partition].node, place.target.leaders[place.partition].node


def _place(cursor: Cursor, source: Metadata, target: Metadata) -> Place | str:
    leased = cursor.leased
    here, there = source.topics.get(leased.topic), target.topics.get(leased.remote)
    for side, name, info in (("source", leased.topic, here), ("target", leased.remote, there)):
        if info is None or info.error or leased.partition not in info.leaders:
            return f"the {side} has no {name}-{leased.partition} ({codes.name_of(info.error) if info else 'gone'})"
        if info.leaders[leased.partition].node < 0:
            return f"{side} {name}-{leased.partition} has no leader"
    assert here is not None and there is not None
    return Place(
        leased.partition,
        here,
        there,
        cursor.hint,
        check_range=cursor.is_out_of_range,
        unequal=cursor.unequal,
        stop_at=leased.stop_at,
        is_forgotten=cursor.is_forgotten,
    )
