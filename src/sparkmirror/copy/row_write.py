"""Writes rows into target partitions, exactly once: the record way's counterpart of `copy.copy`.

    rows --offer--> feed --encode--> cursor's queue --produce--> target broker --> receipt
                     ^-- again from here, when the position had to be found anew

Cursors, appenders, positions and receipts are those of the copy. What differs is where records come from: Spark brings
them, so they are held until they are answered for, instead of being fetched again. Nothing goes on beside the writing,
so positions are asked for in the loop and not by a scout.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import pyarrow as pa

from sparkmirror.batch import notes
from sparkmirror.batch.decode_fetch import drop_offsets, keep_offsets
from sparkmirror.batch.encode_rows import build_runs
from sparkmirror.copy.appender import Appender, Fills
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.lease import TRANSACTIONS, Lease, LeasePartition
from sparkmirror.copy.limits import LimitRaise
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.receipt import WAITING, Receipt
from sparkmirror.copy.roster import CURSOR_BYTES, Roster
from sparkmirror.copy.row_feed import RECORDS, Piece, RowFeed, TailCheck
from sparkmirror.copy.row_groups import split_rows
from sparkmirror.copy.slow_fill import SlowFill
from sparkmirror.errors import BrokerError, ConnectionLostError, MirrorError, ProtocolError
from sparkmirror.net.cluster import Cluster
from sparkmirror.protocol import produce
from sparkmirror.topology.standing import Standing

RECEIPTS_EVERY_S = 1.0
RETRY_EVERY_S = 0.02
_ANY_OFFSET = 1 << 62


class Found(NamedTuple):
    """Where a partition goes on; `check`: what stands there already, to be compared with rows that come again."""

    place: Place
    position: Position
    check: TailCheck | None = None


class RowFinder(Protocol):
    """What rows mean, and where they go on. Blocking."""

    with_notes: bool

    def open(self, topic: str, partition: int) -> tuple[LeasePartition, int | None]:
        """The partition that rows of this name go to, and the number of its first row (None: their offset)."""
        ...

    def find(self, cursor: Cursor, feed: RowFeed) -> Found | str:
        """A position, or why there is none yet. MirrorError: there is none for good."""
        ...

    def read_missing(self, leased: LeasePartition, first: int, end: int) -> Iterator[pa.RecordBatch] | None:
        """Rows that stand before those that came; None if nobody has them."""
        ...


class RowWrite:
    """One task's rows. `recall` becomes readable when nothing more may be written, and `may_write` is asked before."""

    def __init__(
        self,
        lease: Lease,
        target: Cluster,
        finder: RowFinder,
        *,
        codec: int = 0,
        recall: int | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._lease = lease
        self._target = target
        self._finder = finder
        self._codec = codec
        self._roster = Roster(lease, self._raise_limits)
        self._cursors: dict[tuple[str, int], Cursor] = {}
        self._feeds: dict[Cursor, RowFeed] = {}
        self._checks: dict[Cursor, TailCheck | None] = {}
        self._lost_since: dict[Cursor, float] = {}
        self._appenders: dict[int, Appender] = {}
        self._slow_fill = SlowFill(target, lease.transactional_id, may_write)
        self._to_fill: list[Fills] = []
        self._selector = selectors.DefaultSelector()
        self._may_write = may_write
        self._is_recalled = self._is_barred = False
        if recall is not None:
            self._selector.register(recall, selectors.EVENT_READ, None)

    def run(self, rows: Iterator[pa.RecordBatch]) -> Iterator[list[Receipt]]:
        """Write all rows; yields receipts about once a second. What is stopped is in them, and not written."""
        due = time.monotonic() + RECEIPTS_EVERY_S
        more = True
        while not self._is_recalled and not self._is_barred and (more or not self._is_done()):
            self._find_lost()
            more = self._take_rows(rows)
            self._queue_pieces()
            is_busy = self._send() or (more and self._has_room())
            self._poll(0.0 if is_busy else self._longest_wait())
            self._drop_overdue()
            if time.monotonic() >= due:
                due = time.monotonic() + RECEIPTS_EVERY_S
                yield self._roster.book.take()
        if self._is_barred:
            self._leave(rows)
        yield self._roster.book.take()

    def standings(self) -> dict[tuple[str, int], Standing]:
        """Where each partition stands that rows came for."""
        return {c.place: c.hint for c in self._roster.cursors if c.hint}

    def rows_seen(self) -> dict[tuple[str, int], int]:
        """The number after the last row of each partition."""
        return {c.place: self._feeds[c].next for c in self._roster.cursors}

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.leave()
        self._selector.close()

    # -- rows in

    def _has_room(self) -> bool:
        return sum(feed.held_bytes for feed in self._feeds.values()) < self._roster.most_bytes

    def _take_rows(self, rows: Iterator[pa.RecordBatch]) -> bool:
        """Some more, unless enough is held; False at their end."""
        if not self._has_room():
            return True
        behind = next((f for f in self._feeds.values() if f.backlog), None)
        if behind is not None:
            behind.take_backlog()
            return True
        batch = next(rows, None)
        if batch is None:
            return False
        for topic, partition, part in split_rows(batch):
            cursor = self._cursors.get((topic, partition)) or self._open(topic, partition)
            if cursor.state is not State.STOPPED:
                self._feeds[cursor].offer(part)
        return True

    def _open(self, topic: str, partition: int) -> Cursor:
        leased, base = self._finder.open(topic, partition)
        cursor = self._cursors[topic, partition] = self._roster.add(leased)
        self._feeds[cursor] = RowFeed(str(cursor), base, with_notes=self._finder.with_notes)
        cursor.is_shared = cursor.is_shared or base is not None
        return cursor

    # -- the queues

    def _queue_pieces(self) -> None:
        for cursor, feed in self._feeds.items():
            while cursor.state is State.COPYING and cursor.pending_fact is None and cursor.held_bytes < CURSOR_BYTES:
                piece = feed.peek()
                if piece is None or not self._queue(cursor, piece):
                    break
                feed.advance()
            if cursor.state is State.COPYING:
                feed.drop_before(cursor.source_next)
                if cursor.queue:
                    self._appenders[cursor.target_node].offer(cursor)
            elif cursor.state is State.STOPPED:
                feed.drop_all()

    def _queue(self, cursor: Cursor, piece: Piece) -> bool:
        """False: not yet."""
        now = time.monotonic()
        if piece.kind == RECORDS:
            self._queue_records(cursor, piece, now)
        elif piece.kind == notes.FAULT:
            name, _, said = piece.text.partition(": ")
            self._roster.queue(cursor, lambda: _set_fact(cursor, MirrorError(name, said)), now)
        elif piece.kind == notes.HOLE or cursor.fetch_offset >= piece.end:
            self._roster.queue(cursor, lambda: cursor.take_runs([], piece.end), now)
        else:
            if cursor.is_drained:
                cursor.is_out_of_range = True
                self._roster.look_again(cursor, "the source has no such offset any more", now)
            return False
        return cursor.state is State.COPYING

    def _queue_records(self, cursor: Cursor, piece: Piece, now: float) -> None:
        check = self._checks.get(cursor)
        position = cursor.queue.position
        if check and piece.first < position:
            try:
                check.take(keep_offsets(piece.rows, piece.first, position))
            except MirrorError as fact:
                self._roster.stop(cursor, fact)
                return
        rows = drop_offsets(keep_offsets(piece.rows, position, _ANY_OFFSET), cursor.queue.leave_out)
        if rows.num_rows:
            runs = build_runs(rows, codec=self._codec, limit=cursor.queue.run_bytes)
            self._roster.queue(cursor, lambda: cursor.take_runs(runs, piece.end), now)

    # -- the target

    def _send(self) -> bool:
        """True if there may be more to send at once."""
        if not self._may_go_on():
            return False
        for appender in list(self._appenders.values()):
            self._guarded(appender, appender.send)
        fills = self._to_fill.copy()
        self._to_fill.clear()
        for wanted in fills:
            for filled in self._slow_fill.fill(wanted):
                leader = self._appenders.get(filled.cursor.target_node)
                if leader is not None and filled.term == filled.cursor.term:
                    self._roster.take_event(leader, filled, time.monotonic())
        return bool(fills)

    def _may_go_on(self) -> bool:
        self._is_barred = self._is_barred or not self._may_write()
        return not self._is_barred

    def _poll(self, timeout_s: float) -> None:
        for appender in self._appenders.values():
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if appender.channel.wants_write else 0)
            if self._selector.get_key(appender.channel).events != events:
                self._selector.modify(appender.channel, events, appender)
        for key, events in self._selector.select(timeout_s):
            if key.data is None:
                self._is_recalled = True
            else:
                self._guarded(key.data, lambda a=key.data, e=events: self._serve(a, e))  # type: ignore[misc]

    def _serve(self, appender: Appender, events: int) -> None:
        if events & selectors.EVENT_WRITE and self._may_go_on():
            appender.channel.flush()
        if events & selectors.EVENT_READ:
            for pending, frame in appender.channel.receive():
                for event in appender.take(pending.tag, frame):
                    self._roster.take_event(appender, event, time.monotonic())

    def _guarded(self, appender: Appender, work: Callable[[], None]) -> None:
        try:
            work()
        except (ConnectionLostError, ProtocolError, BrokerError) as error:
            self._lose_appender(appender, str(error))

    def _lose_appender(self, appender: Appender, reason: str) -> None:
        self._selector.unregister(appender.channel)
        appender.leave()
        del self._appenders[appender.node]
        self._roster.lose_node(appender.node, source=False, reason=reason, now=time.monotonic())

    def _drop_overdue(self) -> None:
        for appender in list(self._appenders.values()):
            self._roster.note_late(appender, time.monotonic())
            if appender.channel.overdue(time.monotonic()):
                self._lose_appender(appender, f"{appender.channel} did not answer in time")

    def _raise_limits(self, cursor: Cursor, wanted: LimitRaise) -> None:
        wanted.apply(self._target, cursor.leased.remote)

    # -- positions

    def _find_lost(self) -> None:
        for cursor in list(self._roster.lost):
            now = time.monotonic()
            since = self._lost_since.setdefault(cursor, now)
            if cursor.retry_at > now or not self._feeds[cursor].is_waiting:
                continue
            try:
                found = self._finder.find(cursor, self._feeds[cursor])
            except MirrorError as fact:
                self._roster.stop(cursor, fact)
                continue
            except (ConnectionLostError, ProtocolError, BrokerError) as error:
                found = str(error)
            if isinstance(found, Found):
                self._settle(cursor, found)
            elif now - since < self._lease.seconds:
                self._roster.lose(cursor, found, now)
            else:
                self._give_up(cursor, found)

    def _settle(self, cursor: Cursor, found: Found) -> None:
        place, position = found.place, found.position
        leader = place.target_leader
        try:
            appender = self._appenders.get(leader.node) or self._connect(leader.node)
        except (ConnectionLostError, BrokerError) as error:
            self._roster.lose(cursor, str(error), time.monotonic())
            return
        cursor.target_node = leader.node
        cursor.target_key = place.target.topic_id if appender.version == produce.BY_ID else place.target.name
        self._roster.settle(cursor, place, position, time.monotonic())
        self._roster.note_well(cursor)
        self._lost_since.pop(cursor, None)
        self._checks[cursor] = found.check
        feed = self._feeds[cursor]
        feed.rewind()
        begins = max(position.next_offset, position.fetch_from)
        if feed.first is not None and begins < feed.first:
            missing = self._finder.read_missing(cursor.leased, begins, feed.first)
            if missing is not None:
                feed.begin_backlog(missing)

    def _connect(self, node: int) -> Appender:
        slowly = self._to_fill.append if self._lease.rules.fill_with == TRANSACTIONS else None
        lease, rules = self._lease, self._lease.rules
        appender = Appender(
            node,
            self._target.connect(node),
            lease.producer_id,
            lease.fence,
            slowly,
            rules.bounds.request_bytes,
            keeps_batches=rules.errors.log_content,
        )
        self._appenders[node] = appender
        self._selector.register(appender.channel, selectors.EVENT_READ, appender)
        return appender

    def _give_up(self, cursor: Cursor, reason: str) -> None:
        """The next micro-batch finds what is missing here."""
        self._roster.lost.discard(cursor)
        cursor.stop()
        self._roster.book.note_fact(cursor.place, WAITING, reason)

    def _leave(self, rows: Iterator[pa.RecordBatch]) -> None:
        """Say of each partition that has rows left that they were not written."""
        left = {(topic, partition) for batch in rows for topic, partition, _ in split_rows(batch)}
        left |= {cursor.place for cursor in self._feeds if not self._is_written(cursor)}
        stopped = {cursor.place for cursor in self._feeds if cursor.state is State.STOPPED}
        for place in left - stopped:
            self._roster.book.note_fact(place, WAITING, "another driver may lead")

    def _is_done(self) -> bool:
        return all(map(self._is_written, self._feeds))

    def _is_written(self, cursor: Cursor) -> bool:
        return cursor.state is State.STOPPED or (self._feeds[cursor].is_empty and cursor.is_drained)

    def _longest_wait(self) -> float:
        busy = self._roster.lost or any(feed.backlog for feed in self._feeds.values())
        return RETRY_EVERY_S if busy else RECEIPTS_EVERY_S


def _set_fact(cursor: Cursor, fact: MirrorError) -> None:
    cursor.pending_fact = fact
