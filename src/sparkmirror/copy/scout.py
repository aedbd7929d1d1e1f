"""Finds leaders, connections and positions for lost cursors, off the copy's loop.

All of it waits for brokers, so it runs on a few threads and hands its findings over a queue. Each target
leader is asked on its own: one that hangs holds up only its own partitions.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sparkmirror.copy.appender import Filled, Fills
from sparkmirror.copy.beginning import Beginner, NoteStanding
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.limits import LimitRaise
from sparkmirror.copy.log_start import first_timestamp
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.position import PositionFinder
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.slow_fill import SlowFill
from sparkmirror.copy.source_view import ClusterView
from sparkmirror.errors import MirrorError, SparkmirrorError
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster, group_by

THREADS = 8
COUNT_BYTES = 64 << 20  # read at once of a log that others write to: about a second


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


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A broker of the source that was to be read from."""

    node: int
    reason: str


News = list[Finding] | Connections | list[Filled] | Unreachable


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
        self._source = source
        self._target = target
        self._may_write = may_write
        view = ClusterView(source, lease.rules.isolation, lease.rules.skip_producers)
        self._finder = PositionFinder(Sides(view, target, lease.producer_id, lease.rules, unguarded_ok, COUNT_BYTES))
        self.writing = threading.Lock()  # held while a thread of the scout's writes to the target
        self._beginner = Beginner(
            target=target,
            producer_id=lease.producer_id,
            preserve=lease.rules.preserve,
            may_write=may_write,
            note=note_standing,
            writing=self.writing,
        )
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="scout")
        self._slow_fill = SlowFill(target, lease.transactional_id, may_write)
        self._found: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._is_closed = False
        self.wakeup, self._bell = socket.socketpair()
        self.wakeup.setblocking(False)

    def ask(self, cursors: Sequence[Cursor], known: tuple[set[int], set[int]]) -> None:
        """`known`: nodes on each side that the loop already has a connection to."""
        self._pool.submit(self._safely, self._look, list(cursors), known)

    def raise_limits(self, cursor: Cursor, wanted: LimitRaise, known: tuple[set[int], set[int]]) -> None:
        """Raise limits of the target topic, then look where the cursor stands."""
        self._pool.submit(self._safely, self._raise_limits, [cursor], (wanted, known))

    def connect(self, node: int) -> None:
        """Open a connection to a broker of the source."""
        self._pool.submit(self._connect, node)

    def fill(self, fills: Fills) -> None:
        """Fill holes with empty transactions: the slow way, where markers may not be written."""
        self._pool.submit(self._fill, fills)

    def take(self) -> list[News]:
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
        self._is_closed = True
        self._drop_findings()

    def _drop_findings(self) -> None:
        """Nobody adopts connections of a lease that has ended."""
        with contextlib.suppress(queue.Empty):
            while True:
                found = self._found.get_nowait()
                if isinstance(found, Connections):
                    for channel in (*found.source.values(), *found.target.values()):
                        channel.close()

    def _tell(self, found: News) -> None:
        self._found.put(found)
        if self._is_closed:
            self._drop_findings()
        with contextlib.suppress(OSError):  # the lease has ended
            self._bell.send(b"!")

    def _connect(self, node: int) -> None:
        try:
            self._tell(Connections({node: self._source.connect(node)}, {}))
        except SparkmirrorError as error:
            self._tell(Unreachable(node, str(error)))

    def _fill(self, fills: Fills) -> None:
        with self.writing:
            fills = {p: fill for p, fill in fills.items() if fill[1] == fill[0].term}  # not lost meanwhile
            answer = self._slow_fill.fill(fills) if fills and self._may_write() else []
        self._tell(answer)

    def _raise_limits(self, cursors: list[Cursor], what: tuple[LimitRaise, tuple[set[int], set[int]]]) -> None:
        wanted, known = what
        wanted.apply(self._target, cursors[0].leased.remote)
        self._look(cursors, known)

    def _safely(self, look: Callable[[Any, Any], None], cursors: Any, known: Any) -> None:
        """A cursor that was asked for is answered for, whatever happens: else it would wait for ever.

        `look` takes out of `cursors` those that it has answered for.
        """
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
            found = cursor.locate(source, target, (self._source.address, self._target.address))
            if isinstance(found, Place):
                places[cursor] = found
            else:
                early.append(Finding(cursor, None, found))
        if early:
            self._tell(early)
        for group in group_by(list(places), lambda c: _leaders(places[c])).values():
            self._pool.submit(self._safely, self._look_at_leader, {c: places[c] for c in group}, known)

    def _look_at_leader(self, places: dict[Cursor, Place], known: tuple[set[int], set[int]]) -> None:
        """Each is answered for as it is found, so that one whose log has to be read does not hold up the others."""
        cursors = list(places)
        source_node, target_node = _leaders(places[cursors[0]])
        for found in self._finder.find([places[c] for c in cursors]):
            if not all(isinstance(f, str) for f in found.values()):
                self._tell(
                    Connections(
                        {} if source_node in known[0] else {source_node: self._source.connect(source_node)},
                        {} if target_node in known[1] else {target_node: self._target.connect(target_node)},
                    )
                )
                known = known[0] | {source_node}, known[1] | {target_node}
            told = []
            for index, result in found.items():
                cursor = cursors[index]
                place = places.pop(cursor)
                if isinstance(result, Position) and not result.is_search and (result.is_news or result.log_start):
                    self._pool.submit(self._safely, self._prepare, {cursor: (place, result)}, known)
                else:
                    told.append(Finding(cursor, place, result))
            self._tell(told)

    def _prepare(self, items: dict[Cursor, tuple[Place, Position]], _: object) -> None:
        for cursor, (place, position) in items.items():
            ready: Position | MirrorError = position
            try:
                ready = self._beginner.begin(
                    place,
                    position,
                    lambda pl=place, po=position: first_timestamp(self._source, pl, po.log_start),  # type: ignore[misc]
                )
            except MirrorError as fact:
                ready = fact
            self._tell([Finding(cursor, place, ready)])


def _leaders(place: Place) -> tuple[int, int]:
    return place.source.leaders[place.partition].node, place.target_leader.node
