"""The source side of the copy: one fetch session with one broker (KIP-227).

A session remembers what was asked, so a request names only what changed: partitions that got data (their
offset moved), that joined, and that left. A partition that must wait leaves the session, else its data would be
sent again with each answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import Bounds
from sparkmirror.copy.pace import FULL_SHARE, Pace
from sparkmirror.errors import ProtocolError
from sparkmirror.net.channel import LARGEST_FETCH_BYTES, Channel, Pending
from sparkmirror.net.cluster import group_by
from sparkmirror.protocol import codes, fetch

PARTITION_BYTES = 4 << 20
# A broker holds back who is over a quota for some windows of it, eleven seconds by default. Who says days is not waited
# for: the request times out, and the connection is made anew.
LONGEST_THROTTLE_S = 60.0
# Answers that come at once and bring nothing: some do while logs begin or leaders move, then the broker is left alone.
MOST_IN_VAIN = 3
FIRST_REST_S, LONGEST_REST_S = 0.02, 1.0

NOWHERE = -1  # an offset that nobody asks for

Asked = tuple[int, int]  # term and offset


class Fetcher:
    """One source broker: at most one request under way."""

    def __init__(self, node: int, channel: Channel, isolation: int, bounds: Bounds) -> None:
        self.node = node
        self.channel = channel
        self.reserved_bytes = 0
        self.paused_until = 0.0  # the broker throttles us
        self._pace = Pace(bounds)
        self._asked_at = 0.0
        self._isolation = isolation
        self.partition_bytes = bounds.partition_bytes or PARTITION_BYTES
        by_id = channel.supports(fetch.API_KEY, fetch.BY_ID)
        self.version = fetch.BY_ID if by_id else fetch.BY_NAME
        self.session_id = 0
        self._epoch = fetch.FULL_SESSION_EPOCH
        self._known: dict[Cursor, Asked] = {}
        self._cursors: dict[tuple[fetch.TopicKey, int], Cursor] = {}
        self._wanted: dict[Cursor, Asked] = {}  # by the last request
        self._wait_s = 0.0  # as it may wait for records
        self.was_full = False  # the last answer: the broker has more
        self.lacks_room = False  # nothing is asked for: the target has not taken what came before
        self._was_quick = False
        self._in_vain = 0  # requests in a row, for the same as before

    @property
    def idle(self) -> bool:
        return not self.channel.pending

    @property
    def wakes_at(self) -> int:
        """How many bytes are worth waking up for: the rest of an answer that has begun to arrive."""
        return max(1, self.channel.missing) if self.channel.pending else 1

    def ask(self, cursors: Iterable[Cursor], max_bytes: int, left_ms: int, rack: str = "") -> None:
        """Send the next fetch for exactly these cursors. From a `rack`, a leader may name a follower to read from."""
        wanted = {cursor: (cursor.term, cursor.fetch_offset) for cursor in cursors}
        full = self._epoch == fetch.FULL_SESSION_EPOCH
        changed = [c for c, asked in wanted.items() if full or self._known.get(c) != asked]
        left = [] if full else [c for c in self._known if c not in wanted]
        is_other = full or bool(left) or len(wanted) != len(self._known)
        max_wait_ms, min_bytes = self._pace.plan(is_other=is_other)
        max_wait_ms = min(max_wait_ms, left_ms)
        body = fetch.encode_fetch(
            self.version,
            {key: [self._wish(c) for c in group] for key, group in group_by(changed, _key).items()},
            max_wait_ms=max_wait_ms,
            min_bytes=min(min_bytes, max_bytes),
            max_bytes=max_bytes,
            isolation=self._isolation,
            session_id=self.session_id,
            session_epoch=self._epoch,
            forgotten={k: [c.leased.partition for c in group] for k, group in group_by(left, _key).items()},
            rack=rack,
        )
        self._rest_if_in_vain(wanted)
        self._known = self._wanted = wanted
        self._wait_s = max_wait_ms / 1000
        self._cursors = {(c.source_key, c.leased.partition): c for c in wanted}
        self.reserved_bytes = max_bytes
        self._asked_at = time.monotonic()
        self._send(body, self.channel.request_timeout_s + max_wait_ms / 1000)

    def full_bytes(self, asked_bytes: int, partitions: int) -> int:
        """How large an answer can be at most."""
        return min(asked_bytes, partitions * self.partition_bytes)

    def _rest_if_in_vain(self, wanted: dict[Cursor, Asked]) -> None:
        """After the answer to this request, if those before it came at once and moved nothing."""
        self._in_vain = self._in_vain + 1 if self._was_quick and wanted == self._wanted else 0
        if self._in_vain >= MOST_IN_VAIN:
            rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2 ** min(self._in_vain - MOST_IN_VAIN, 10))
            self.paused_until = max(self.paused_until, time.monotonic() + rest_s)

    def _wish(self, cursor: Cursor) -> fetch.FetchPartition:
        return fetch.FetchPartition(
            cursor.leased.partition,
            cursor.leader_epoch,
            cursor.fetch_offset,
            self.partition_bytes,
            cursor.queue.epoch,
        )

    def take(self, frame: memoryview) -> list[tuple[Cursor, fetch.FetchedPartition]]:
        """What an answer brings for cursors that still stand where they asked."""
        self.was_full = len(frame) > FULL_SHARE * self.full_bytes(self.reserved_bytes, len(self._cursors))
        self.reserved_bytes = 0
        if not isinstance(frame.obj, np.ndarray):  # a small one: `Held` counts arrays
            frame = np.array(frame, np.uint8).data
        took_s = time.monotonic() - self._asked_at
        self._was_quick = took_s < self._wait_s / 2
        answer = fetch.parse_fetch(self.version, frame)
        if answer.throttle_ms > 0:
            self.paused_until = time.monotonic() + min(LONGEST_THROTTLE_S, answer.throttle_ms / 1000)
        if answer.error:
            self._restart(answer.error)
            return []
        self.session_id = answer.session_id
        self._epoch = self._epoch + 1 if answer.session_id else fetch.FULL_SESSION_EPOCH
        news: dict[Cursor, fetch.FetchedPartition] = {}
        for fetched in answer.partitions:
            cursor = self._cursors.get((fetched.topic, fetched.partition))
            if cursor in news:
                raise ProtocolError(f"{self.channel} answered twice for a partition")
            if cursor and self._known[cursor] == (cursor.term, cursor.fetch_offset):
                news[cursor] = fetched
        has_records = any(fetched.records for fetched in news.values())
        self._pace.note(len(frame), has_records=has_records, took_s=took_s)
        return list(news.items())

    # -- for a lane, which reads answers and writes requests itself

    @property
    def request(self) -> tuple[int, float, float]:
        """Of the request under way: the session's epoch, when it was sent, and how long it may wait for records."""
        return self._epoch, self._asked_at, self._wait_s

    def come_back(
        self, cursors: Iterable[Cursor], epoch: int, asked_at: float, wait_s: float, asked_bytes: int
    ) -> None:
        """The request under way is for where these stand now; nothing asked: the last one was for where they stood."""
        known = {c: (c.term, c.fetch_offset if asked_bytes else NOWHERE) for c in cursors}
        if epoch != self._epoch:
            self._was_quick, self._in_vain = False, 0
        self._known = self._wanted = known
        self._epoch, self._asked_at, self._wait_s = epoch, asked_at, wait_s
        self.reserved_bytes = asked_bytes

    def pending_of(self, correlation: int, asked_at: float, wait_s: float) -> Pending:
        deadline = asked_at + wait_s + self.channel.request_timeout_s
        return Pending(correlation, self.version >= fetch.FLEXIBLE_FROM, None, deadline, LARGEST_FETCH_BYTES)

    def asks_for(self, cursors: Sequence[Cursor]) -> bool:
        """Whether the request under way is for exactly these, where they stand now, in a session."""
        is_whole = bool(self.session_id) and len(cursors) == len(self._known) and not self.idle
        is_whole = is_whole and not self._in_vain and self.paused_until <= time.monotonic()
        return is_whole and all(self._known.get(c) == (c.term, c.fetch_offset) for c in cursors)

    def leave(self) -> None:
        """End the session, so that the broker's cache keeps no dead entry, and the connection."""
        if self.session_id and self.idle:
            body = fetch.encode_fetch(
                self.version, {}, max_wait_ms=0, max_bytes=0, session_id=self.session_id, session_epoch=-1
            )
            self._send(body, self.channel.request_timeout_s)
        self.channel.close()

    def _send(self, body: bytes, timeout_s: float) -> None:
        flexible = self.version >= fetch.FLEXIBLE_FROM
        self.channel.send(fetch.API_KEY, self.version, [body], flexible=flexible, timeout_s=timeout_s)

    def _restart(self, error: int) -> None:
        """The broker lost the session or refuses it: the next request is a full one."""
        if error not in codes.SESSION_LOST and error not in codes.PASSING:
            codes.raise_for(error, f"fetch from {self.channel}")
        self.session_id = 0
        self._epoch = fetch.FULL_SESSION_EPOCH
        self._known = {}


def _key(cursor: Cursor) -> fetch.TopicKey:
    return cursor.source_key
