"""The target side of the copy: requests to one broker that write, several under way.

A produce request carries one batch for each of many partitions (a broker takes no more than one a partition), and
at most five requests are under way, which is as many batches a partition as a leader remembers for its
duplicate check.

A leader that does not know our producer takes a batch with any sequence. So the first batch of a partition goes alone:
if it were refused and another one behind it taken, that would stand at the wrong offset. So does the first one after a
while: a leader forgets producers whose records are old.

A hole is a barrier for its partition: it is filled when nothing of the partition is under way, and nothing goes out
behind it before it is answered. Markers have no sequence, so a fill that is sent twice would be stored twice: the
first marker of a lease goes alone and shuts out every earlier lease by its fence; then the leader is asked for its
log end, and only if that is the expected one the rest is filled. So it is after an answer that was lost. The answer to
several markers tells only of the last one, so then, too, the log end is asked for. Holes of many partitions share a
request, and so do the questions behind them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.fetcher import LONGEST_THROTTLE_S
from sparkmirror.copy.lease import FENCE_STEP
from sparkmirror.copy.queue import PRODUCER_EPOCH, SEQUENCE_MASK, Hole, Ready
from sparkmirror.errors import ProtocolError
from sparkmirror.net.channel import Channel, Pending
from sparkmirror.net.cluster import group_by
from sparkmirror.protocol import codes, list_offsets, markers, produce
from sparkmirror.protocol.fetch import TopicKey

MOST_UNDER_WAY = 5
BROKER_HAS = 3  # requests that a broker should have, so that it never waits for the next
REQUEST_BYTES = 8 << 20
STILL_S = 1.0  # what takes longer holds up what waits behind it
KNOWN_S = 5.0  # brokers look every ten minutes for what they may forget
HOLE_S = 0.1  # where one hole is, others are
GRACE = 7 / 6  # a broker that gives up says so when its time is over: wait for that a little longer

Partition = tuple[str, int]
# Markers to be written: with the cursor's term and their number.
Fills = dict[Partition, tuple[Cursor, int, int]]


class Appended(NamedTuple):
    """The answer to one batch."""

    cursor: Cursor
    ready: Ready
    answer: produce.ProducedPartition


class Filled(NamedTuple):
    """The answer to so many markers. `is_checked`: the log end is the expected one."""

    cursor: Cursor
    term: int
    markers: int
    error: int
    is_checked: bool = False


class Checked(NamedTuple):
    """The leader's log end after so many markers were written."""

    cursor: Cursor
    markers: int
    log_end: int
    error: int


Event = Appended | Filled | Checked


@dataclass(frozen=True, slots=True)
class Batches:
    """The tag of an append: by what the broker's answer will name."""

    sent: dict[tuple[TopicKey, int], tuple[Cursor, Ready]]


@dataclass(frozen=True, slots=True)
class _Markers:
    sent: Fills


@dataclass(frozen=True, slots=True)
class _Ends:
    sent: Fills


class Appender:
    """One target broker."""

    def __init__(
        self,
        node: int,
        channel: Channel,
        producer_id: int,
        fence: int,
        fill_slowly: Callable[[Fills], None] | None = None,
        request_bytes: int | None = None,
        *,
        keeps_batches: bool = False,
    ) -> None:
        self.node = node
        self.channel = channel
        by_id = channel.supports(produce.API_KEY, produce.BY_ID)
        self.version = produce.BY_ID if by_id else produce.BY_NAME
        self._marker_version = 1 if channel.supports(markers.API_KEY, 1) else 0
        self._producer_id = producer_id
        self._fence = fence
        self._fill_slowly = fill_slowly
        self._request_bytes = request_bytes or REQUEST_BYTES
        self._keeps_batches = keeps_batches  # until they are answered
        self._moved_at = 0.0
        self._timeout_s = channel.request_timeout_s * GRACE
        self.timeout_ms = int(channel.request_timeout_s * 1000)
        self._late: Pending | None = None  # the request that was said to be late
        self._answer_bytes = 0  # of the last answer
        self._hole_until = 0.0  # a hole waits for answers, or did lately
        self._turn: dict[Cursor, None] = {}  # who waits, in this order, each once
        self._holes: list[tuple[Cursor, int]] = []  # with term
        self._unchecked: list[Filled] = []
        self.paused_until = 0.0  # the broker throttles us

    @property
    def has_room(self) -> bool:
        """Not while a request waits to be sent: it stays in memory, and the broker takes no other before it."""
        if len(self.channel.pending) >= MOST_UNDER_WAY or self.channel.wants_write:
            return False
        return time.monotonic() >= self.paused_until

    def stands_still(self, now: float) -> bool:
        """Something waits for the broker, and it has answered nothing for a while."""
        return now - self._moved_at > STILL_S and bool(self.channel.pending or self._turn)

    @property
    def wakes_at(self) -> int:
        """How many bytes are worth waking up for: those of several answers, where no batch waits for the first of them.

        Their sizes are guessed by the last one's, so whoever waits looks in vain at times, and must not wait for long.
        """
        answers = len(self.channel.pending) - (BROKER_HAS if self._turn else 0)
        if answers < 2 or self.channel.is_renewing or time.monotonic() < self._hole_until:
            return 1
        return max(1, self._answer_bytes * (2 * answers - 1) // 2)  # somewhat less than all of them have

    def is_due(self, now: float) -> bool:
        """A pause is over, and no answer will come that makes it send."""
        return bool(
            (self._turn or self._holes or self._unchecked) and not self.channel.pending and now >= self.paused_until
        )

    def offer(self, cursor: Cursor) -> None:
        """Something is queued for a partition that this broker leads."""
        if not self._turn and not self.channel.pending:
            self._moved_at = time.monotonic()
        self._turn.setdefault(cursor)

    def send(self) -> None:
        """Send requests while there is room and something can go."""
        if self._unchecked and self.has_room:
            self._send_checks()
        while self._turn and self.has_room:
            self._send_batches()
        if self._holes and self.has_room:
            self._send_markers()

    def _send_batches(self) -> None:
        """One batch from each cursor in turn, up to the size of a request."""
        sent: dict[tuple[TopicKey, int], tuple[Cursor, Ready]] = {}
        topics: dict[TopicKey, list[tuple[int, produce.Buffer]]] = {}
        size = 0
        again: dict[Cursor, None] = {}
        while self._turn and size < self._request_bytes:
            cursor = next(iter(self._turn))
            del self._turn[cursor]
            key = (cursor.target_key, cursor.leased.target_partition)
            if key in sent:  # of another origin that is written into the same partition: the next request takes it
                again[cursor] = None
                continue
            head = cursor.queue.head if cursor.target_node == self.node else None
            if isinstance(head, Ready):
                if cursor.in_flight and time.monotonic() >= cursor.known_until:
                    continue  # the answer offers it again
                if sent and size + len(head.batch) > self._request_bytes:
                    again[cursor] = None
                    break
                cursor.queue.pop_batch()
                cursor.in_flight += 1
                size += len(head.batch)
                sent[key] = (cursor, head if self._keeps_batches else head.without_batch())
                topics.setdefault(cursor.target_key, []).append((key[1], head.batch))
                behind = cursor.queue.head
                if isinstance(behind, Ready):
                    again[cursor] = None
                elif behind is not None:
                    self._hole_until = time.monotonic() + HOLE_S
            elif isinstance(head, Hole):
                self._hole_until = time.monotonic() + HOLE_S
                cursor.fill_began = cursor.fill_began or time.monotonic()
                if not cursor.in_flight:
                    cursor.in_flight = 1
                    self._holes.append((cursor, cursor.term))
        self._turn |= again
        if sent:
            pieces = produce.encode_produce(self.version, topics, timeout_ms=self.timeout_ms)
            self._send(produce.API_KEY, self.version, pieces, self.version >= produce.FLEXIBLE_FROM, Batches(sent))

    def _send_markers(self) -> None:
        holes = [cursor for cursor, term in self._holes if term == cursor.term]
        self._holes = []
        for fence, cursors in group_by(holes, self._fence_of).items():
            sent: Fills = {}
            for cursor in cursors:
                head = cursor.queue.head
                if isinstance(head, Hole) and cursor.target_node == self.node:
                    most = markers.MOST_MARKERS if cursor.is_fenced or self._fill_slowly else 1
                    sent[cursor.remote] = (cursor, cursor.term, min(head.end - head.first, most))
                    cursor.is_filling = True
            if sent and self._fill_slowly:
                self._fill_slowly(sent)
            elif sent:
                pieces = markers.encode_markers(
                    self._marker_version,
                    {partition: number for partition, (_, _, number) in sent.items()},
                    producer_id=self._producer_id,
                    producer_epoch=PRODUCER_EPOCH,
                    coordinator_epoch=fence,
                )
                flexible = self._marker_version >= markers.FLEXIBLE_FROM
                self._send(markers.API_KEY, self._marker_version, pieces, flexible, _Markers(sent))

    def _fence_of(self, cursor: Cursor) -> int:
        assert cursor.fill_attempt < FENCE_STEP, "each fill that may still be written is shut out by a higher fence"
        return (self._fence + cursor.fill_attempt) & SEQUENCE_MASK

    def check_end(self, filled: Filled) -> None:
        """Ask for the log end of a partition that got markers, together with others."""
        self._unchecked.append(filled)

    def _send_checks(self) -> None:
        asked = {f.cursor.remote: (f.cursor, f.term, f.markers) for f in self._unchecked if f.term == f.cursor.term}
        self._unchecked = []
        if asked:
            epochs = dict.fromkeys(asked, -1)
            body = list_offsets.encode_list_offsets(epochs, list_offsets.LATEST, replica=list_offsets.DEBUGGER)
            self._send(list_offsets.API_KEY, list_offsets.VERSION, [body], False, _Ends(asked))

    def _send(self, api_key: int, version: int, pieces: Sequence[produce.Buffer], flexible: bool, tag: object) -> None:
        self.channel.send(api_key, version, pieces, flexible=flexible, tag=tag, timeout_s=self._timeout_s)

    @property
    def is_free(self) -> bool:
        """Nothing waits, and nothing is under way."""
        return not (self._turn or self._holes or self._unchecked or self.channel.pending)

    def come_back(self, now: float) -> None:
        """From a lane."""
        self._moved_at = now

    def pending_of(self, correlation: int, sent: Batches, at: float) -> Pending:
        """A request that a lane has sent then."""
        return Pending(correlation, self.version >= produce.FLEXIBLE_FROM, sent, at + self._timeout_s)

    @property
    def unanswered(self) -> set[Cursor]:
        """Partitions of which something was sent, also if it was given up since: a broker may still write it."""
        tags = [pending.tag for pending in self.channel.pending]
        appended = {cursor for tag in tags if isinstance(tag, Batches) for cursor, _ in tag.sent.values()}
        return appended | {cursor for tag in tags if isinstance(tag, _Markers) for cursor, *_ in tag.sent.values()}

    def find_late(self, now: float, longest_s: float) -> list[Cursor]:
        """Partitions whose batches have waited so long for their acknowledgement. Each request is told of once.

        A broker that throttles us reads nothing meanwhile: that time does not count.
        """
        oldest = self.channel.pending[0] if self.channel.pending else None
        if oldest is None or oldest is self._late:
            return []
        if now < max(oldest.deadline - self._timeout_s, self.paused_until) + longest_s:
            return []
        self._late = oldest
        sent = oldest.tag.sent.values() if isinstance(oldest.tag, Batches) else ()
        return [cursor for cursor, ready in sent if ready.term == cursor.term]

    def take(self, tag: object, frame: memoryview) -> list[Event]:
        """What an answer says of cursors that were not lost since they asked."""
        self._answer_bytes = len(frame)
        self._moved_at = time.monotonic()
        if isinstance(tag, Batches):
            return list(self._take_batches(tag, frame))
        if isinstance(tag, _Markers):
            return list(self._take_markers(tag, frame))
        assert isinstance(tag, _Ends)
        ends = list_offsets.parse_list_offsets(frame)
        unknown = (codes.UNKNOWN_TOPIC_OR_PARTITION, -1)
        return [
            Checked(cursor, number, ends.get(partition, unknown)[1], ends.get(partition, unknown)[0])
            for partition, (cursor, term, number) in tag.sent.items()
            if term == cursor.term
        ]

    def _take_batches(self, tag: Batches, frame: memoryview) -> Iterator[Event]:
        throttle_ms, answers = produce.parse_produce(self.version, frame)
        if throttle_ms > 0:
            # Brokers since 2.0 answer at once and then do not read from us for that long (KIP-219). Without the pause
            # five requests would wait there with their deadlines running.
            self.paused_until = time.monotonic() + min(LONGEST_THROTTLE_S, throttle_ms / 1000)
        if len(answers) != len(tag.sent):
            raise ProtocolError(f"{self.channel} answered for {len(answers)} of {len(tag.sent)} batches")
        for answer in answers:
            known = tag.sent.pop((answer.topic, answer.partition), None)
            if known is None:
                raise ProtocolError(f"{self.channel} answered for a partition that was not sent, or twice")
            cursor, ready = known
            if ready.term == cursor.term:
                if not answer.error:
                    cursor.known_until = time.monotonic() + KNOWN_S
                yield Appended(cursor, ready, answer)

    def _take_markers(self, tag: _Markers, frame: memoryview) -> Iterator[Event]:
        errors = markers.parse_markers(self._marker_version, frame)
        for partition, (cursor, term, number) in tag.sent.items():
            if term == cursor.term:
                yield Filled(cursor, term, number, errors.get(partition, codes.UNKNOWN_TOPIC_OR_PARTITION))

    def leave(self) -> None:
        self.channel.close()
