"""The copy of one lease: a selector loop between a fetcher a source broker and an appender a target broker.

    source broker --fetch answer--> cursor: classify, patch, queue --produce--> target broker --> receipt
         ^-- the next fetch goes out before the batches of the last are appended

Nothing in the loop waits but the selector. What must wait for a broker outside of fetch and produce is the
scout's. Bytes that were fetched and not yet acknowledged stay under `IN_FLIGHT_BYTES`, whatever the lag.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from sparkmirror.batch.classify import PASSED
from sparkmirror.copy.appender import Appender
from sparkmirror.copy.cursor import Cursor, Ready, State
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lease import Hint, Lease
from sparkmirror.copy.position import Position
from sparkmirror.copy.receipt import STOPPED, WAITING, Receipt, ReceiptBook
from sparkmirror.copy.scout import Connections, Finding, Scout
from sparkmirror.errors import BrokerError, ConnectionLostError, MirrorError, ProtocolError
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, describe_producer, list_offsets
from sparkmirror.protocol import codes, fetch, produce

IN_FLIGHT_BYTES = 32 << 20
FETCH_BYTES = 8 << 20
CURSOR_BYTES = 16 << 20  # one slow partition must not take the room of all
LONGEST_WAIT_MS = 500
RECEIPTS_EVERY_S = 1.0
DRAIN_S = 2.0
RETRY_EVERY_S = 0.02

RECALLED = "recalled"

Place = tuple[str, int]


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Copy:
    """Runs one lease. `recall` is a socket-like object that becomes readable when the lease must end early."""

    def __init__(self, lease: Lease, recall: HasFileno | None = None, isolation: int = fetch.READ_COMMITTED) -> None:
        self.lease = lease
        self._started = self._deadline = 0.0
        self._source = Cluster(lease.source)
        self._target = Cluster(lease.target)
        self._scout = Scout(lease, self._source, self._target, self._unguarded_ok)
        self._isolation = isolation
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._scout.wakeup, selectors.EVENT_READ, None)
        if recall is not None:
            self._selector.register(recall, selectors.EVENT_READ, RECALLED)
        self._cursors = [Cursor(p, lease.producer_id) for p in lease.partitions]
        self._has_end = all(p.stop_at is not None for p in lease.partitions)
        self._lost = set(self._cursors)
        self._asked: set[Cursor] = set()
        self._fetchers: dict[int, Fetcher] = {}
        self._appenders: dict[int, Appender] = {}
        self._held_bytes = 0
        self._book = ReceiptBook(lease.flow)
        self._ending = False

    def warm_up(self) -> None:
        """Connect, and ask once what `run` will ask, while the turn has not come: the first of each takes longer.

        Nothing of the answers is kept. A cluster that does not answer is met again in `run`.
        """
        with contextlib.suppress(ConnectionLostError, ProtocolError, BrokerError):
            sources = _leaders(self._source, {p.topic for p in self.lease.partitions})
            targets = _leaders(self._target, {p.remote for p in self.lease.partitions})
            mine = {(p.remote, p.partition) for p in self.lease.partitions}
            leaders = {place: leader for place, leader in targets.items() if place in mine}
            describe_producer(self._target, leaders, self.lease.producer_id)
            list_offsets(self._target, leaders, LATEST, log_end=True)
            here = {sources[c.place].node for c in self._cursors if c.place in sources}
            there = {leader.node for leader in leaders.values()}
            self._adopt(
                Connections(
                    {node: self._source.connect(node) for node in here if node >= 0},
                    {node: self._target.connect(node) for node in there if node >= 0},
                )
            )

    def run(
        self, hints: Mapping[Place, Hint], hand_over: Callable[[dict[Place, Hint]], None]
    ) -> Iterator[list[Receipt]]:
        """Copy until the lease ends; yields receipts about once a second.

        `hints` say where a predecessor left off. `hand_over` is called with the positions as soon as nothing more
        is written, so that a successor can go on while this one closes its connections.
        """
        self._started = time.monotonic()
        self._deadline = self._started + self.lease.seconds
        next_receipts = self._started + RECEIPTS_EVERY_S
        for cursor in self._cursors:
            cursor.hint = hints.get(cursor.place, cursor.hint)
        while not self._ended():
            self._step()
            if time.monotonic() >= next_receipts:
                next_receipts = time.monotonic() + RECEIPTS_EVERY_S
                yield self._book.take()
        self._drain()
        hand_over({c.place: c.hint for c in self._cursors if c.hint})
        for cursor in self._cursors:
            if cursor.state is State.LOST and cursor.reason:
                self._book.note_fact(cursor.place, WAITING, cursor.reason)
        yield self._book.take()

    def _unguarded_ok(self) -> bool:
        return time.monotonic() - self._started >= self.lease.unguarded_wait_s

    def _ended(self) -> bool:
        if self._ending or time.monotonic() >= self._deadline:
            return True
        if not self._has_end:
            return False
        return all(c.state in (State.DONE, State.STOPPED) for c in self._cursors)

    # -- one turn of the loop

    def _step(self) -> None:
        now = time.monotonic()
        self._ask_scout(now)
        for fetcher in list(self._fetchers.values()):
            self._guarded(fetcher.channel, lambda f=fetcher: self._fetch_more(f, now))  # type: ignore[misc]
        longest = RETRY_EVERY_S if self._lost else RECEIPTS_EVERY_S
        self._poll(min(longest, max(0.0, self._deadline - now)))
        self._drop_overdue()

    def _poll(self, timeout_s: float) -> None:
        for key, events in self._selector.select(timeout_s):
            if key.data is None:
                self._take_findings()
            elif key.data is RECALLED:
                self._ending = True
                self._selector.unregister(key.fileobj)
            else:
                self._guarded(key.data.channel, lambda s=key.data, e=events: self._serve(s, e))  # type: ignore[misc]

    def _guarded(self, channel: Channel, work: Callable[[], None]) -> None:
        try:
            work()
        except (ConnectionLostError, ProtocolError, BrokerError) as error:
            self._lose_channel(channel, str(error))

    def _serve(self, side: Fetcher | Appender, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            side.channel.flush()
        if events & selectors.EVENT_READ:
            for pending, frame in side.channel.receive():
                if isinstance(side, Fetcher):
                    self._take_fetch(side, frame)
                else:
                    self._take_produce(side, pending.tag, frame)
        self._watch(side)

    def _watch(self, side: Fetcher | Appender) -> None:
        """Wait for room to write only while something waits to be written."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if side.channel.wants_write else 0)
        if self._selector.get_key(side.channel).events != events:
            self._selector.modify(side.channel, events, side)

    # -- source side

    def _fetch_more(self, fetcher: Fetcher, now: float) -> None:
        if not fetcher.idle or self._ending:
            return
        # Each broker may have one answer here and one under way, also while all the others only wait.
        share = min(FETCH_BYTES, IN_FLIGHT_BYTES // (2 * len(self._fetchers)))
        reserved = sum(f.reserved_bytes for f in self._fetchers.values())
        room = min(share, IN_FLIGHT_BYTES - self._held_bytes - reserved)
        cursors = [
            c
            for c in self._cursors
            if c.state is State.COPYING
            and c.source_node == fetcher.node
            and c.held_bytes < CURSOR_BYTES
            and c.pending_fact is None
        ]
        if not cursors or room < share // 4:
            return
        left_ms = int((self._deadline - now) * 1000)
        fetcher.ask(cursors, room, max(0, min(LONGEST_WAIT_MS, left_ms)))
        self._watch(fetcher)

    def _take_fetch(self, fetcher: Fetcher, frame: memoryview) -> None:
        news = fetcher.take(frame)
        if self._ending:
            return
        for cursor, fetched in news:
            if fetched.error:
                self._refused_by_source(cursor, fetched)
            elif len(fetched.records):
                self._queue(cursor, fetched)
        self._fetch_more(fetcher, time.monotonic())
        for appender in {c.target_node for c, _ in news}:
            if appender in self._appenders:
                self._send(self._appenders[appender])

    def _queue(self, cursor: Cursor, fetched: fetch.FetchedPartition) -> None:
        before = cursor.held_bytes
        fact: MirrorError | None = None
        try:
            cursor.take_fetched(fetched)
        except MirrorError as error:
            fact = error
        except ProtocolError as error:
            fact = MirrorError("corrupt", f"{error}; if it stays, the source's log is damaged there")
        self._held_bytes += cursor.held_bytes - before
        if cursor.queue and cursor.target_node in self._appenders:
            self._appenders[cursor.target_node].offer(cursor)
        if fact is not None:
            cursor.pending_fact = fact
            self._stop_if_drained(cursor)

    def _refused_by_source(self, cursor: Cursor, fetched: fetch.FetchedPartition) -> None:
        if fetched.error == codes.OFFSET_OUT_OF_RANGE:
            cursor.is_out_of_range = True
            self._lose(cursor, "the source has no such offset")
        elif fetched.error in codes.PASSING:
            self._lose(cursor, f"source: {codes.name_of(fetched.error)}")
        else:
            self._stop(cursor, _refusal("source", fetched.error, None))

    # -- target side

    def _send(self, appender: Appender) -> None:
        self._guarded(appender.channel, appender.send)
        if self._appenders.get(appender.node) is appender:
            self._watch(appender)

    def _take_produce(self, appender: Appender, tag: object, frame: memoryview) -> None:
        for cursor, ready, answer in appender.take(tag, frame):  # type: ignore[arg-type]
            self._take_answer(cursor, ready, answer)
        appender.send()

    def _take_answer(self, cursor: Cursor, ready: Ready, answer: produce.ProducedPartition) -> None:
        if answer.error in codes.STALE_WRITER or answer.error in codes.PASSING:
            self._lose(cursor, f"target: {codes.name_of(answer.error)}")
        elif answer.error:
            self._stop(cursor, _refusal("target", answer.error, answer.message))
        else:
            before = cursor.held_bytes
            try:
                cursor.take_answer(ready, answer.base_offset)
            except MirrorError as fact:
                self._stop(cursor, fact)
                return
            self._book.note_copied(
                cursor.place,
                ready.header.first,
                answer.base_offset,
                count=ready.header.records,
                size=len(ready.batch),
                last_sequence=ready.last_sequence,
            )
            self._held_bytes += cursor.held_bytes - before
            self._stop_if_drained(cursor)

    def _stop_if_drained(self, cursor: Cursor) -> None:
        """A batch that can't pass stops its partition once all before it stand in the target."""
        if cursor.pending_fact is not None and cursor.target_next == cursor.fetch_offset:
            self._stop(cursor, cursor.pending_fact)

    # -- losing and finding

    def _lose(self, cursor: Cursor, reason: str) -> None:
        self._held_bytes -= cursor.held_bytes
        cursor.lose(reason, time.monotonic())
        if cursor.state is State.LOST:
            self._lost.add(cursor)

    def _stop(self, cursor: Cursor, fact: MirrorError) -> None:
        self._held_bytes -= cursor.held_bytes
        cursor.stop()
        self._book.note_fact(cursor.place, STOPPED, f"{fact.name}: {fact}")

    def _lose_channel(self, channel: Channel, reason: str) -> None:
        """A connection is gone: all partitions that went over it are looked up anew."""
        side = next((s for s in self._sides() if s.channel is channel), None)
        if side is None:
            return
        self._selector.unregister(channel)
        channel.close()
        if isinstance(side, Fetcher):
            del self._fetchers[side.node]
            mine = [c for c in self._cursors if c.source_node == side.node]
        else:
            del self._appenders[side.node]
            mine = [c for c in self._cursors if c.target_node == side.node]
        for cursor in mine:
            if cursor.state is State.COPYING:
                self._lose(cursor, reason)

    def _sides(self) -> list[Fetcher | Appender]:
        return [*self._fetchers.values(), *self._appenders.values()]

    def _drop_overdue(self) -> None:
        now = time.monotonic()
        for side in self._sides():
            if side.channel.overdue(now):
                self._lose_channel(side.channel, f"{side.channel} did not answer in time")

    def _ask_scout(self, now: float) -> None:
        due = [c for c in self._lost if c not in self._asked and c.retry_at <= now]
        if due and not self._ending:
            self._asked.update(due)
            self._scout.ask(due, (set(self._fetchers), set(self._appenders)))

    def _take_findings(self) -> None:
        for found in self._scout.take():
            if isinstance(found, Connections):
                self._adopt(found)
            else:
                for finding in found:
                    self._take_finding(finding)

    def _adopt(self, connections: Connections) -> None:
        for node, channel in connections.source.items():
            if node in self._fetchers:
                channel.close()
                continue
            self._fetchers[node] = Fetcher(node, channel, self._isolation)
            self._selector.register(channel, selectors.EVENT_READ, self._fetchers[node])
        for node, channel in connections.target.items():
            if node in self._appenders:
                channel.close()
                continue
            self._appenders[node] = Appender(node, channel)
            self._selector.register(channel, selectors.EVENT_READ, self._appenders[node])

    def _take_finding(self, finding: Finding) -> None:
        cursor = finding.cursor
        self._asked.discard(cursor)
        if isinstance(finding.result, str):
            cursor.lose(finding.result, time.monotonic())
            return
        self._lost.discard(cursor)
        if isinstance(finding.result, MirrorError):
            self._stop(cursor, finding.result)
            return
        assert isinstance(finding.result, Position) and finding.place is not None
        place = finding.place
        source, target = place.source.leaders[place.partition], place.target.leaders[place.partition]
        if source.node not in self._fetchers or target.node not in self._appenders:
            self._lost.add(cursor)
            cursor.lose("a connection was lost meanwhile", time.monotonic())
            return
        cursor.source_node, cursor.target_node, cursor.leader_epoch = source.node, target.node, source.epoch
        by_id = self._fetchers[source.node].version == fetch.BY_ID
        cursor.source_key = place.source.topic_id if by_id else place.source.name
        by_id = self._appenders[target.node].version == produce.BY_ID
        cursor.target_key = place.target.topic_id if by_id else place.target.name
        cursor.settle(finding.result)
        if cursor.leased.troubled:
            self._book.note_fact(cursor.place, PASSED, "")

    # -- the end

    def _drain(self) -> None:
        """Send nothing new; wait a little for the answers of what is under way."""
        self._ending = True
        until = time.monotonic() + DRAIN_S
        for cursor in self._cursors:
            cursor.queue.clear()
        while any(a.channel.pending for a in self._appenders.values()) and time.monotonic() < until:
            self._poll(0.05)

    def close(self) -> None:
        """Close sessions and connections; a fetch that is still under way is waited for as long as it may take."""
        self._ending = True
        until = time.monotonic() + 1.2 * LONGEST_WAIT_MS / 1000
        while any(f.channel.pending for f in self._fetchers.values()):
            if time.monotonic() >= until:
                break
            self._poll(0.1)
        for side in self._sides():
            with contextlib.suppress(ConnectionLostError):
                side.leave()
        self._selector.close()
        self._scout.close()
        self._source.close()
        self._target.close()


def _leaders(cluster: Cluster, topics: Collection[str]) -> dict[Place, Leader]:
    found = cluster.fetch_metadata(sorted(topics)).topics
    return {(name, p): leader for name, info in found.items() for p, leader in info.leaders.items()}


def _refusal(side: str, code: int, message: str | None) -> MirrorError:
    return MirrorError("refused", f"the {side} refuses: {codes.name_of(code)} {message or ''}".rstrip())
