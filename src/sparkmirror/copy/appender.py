"""The target side of the copy: produce requests to one broker, several under way.

A request carries one batch for each of many partitions (a broker takes no more than one a partition), and
at most five requests are under way, which is as many batches a partition as a leader remembers for its
duplicate check.
"""

from __future__ import annotations

from collections import deque

from sparkmirror.copy.cursor import Cursor, Ready
from sparkmirror.errors import ProtocolError
from sparkmirror.net.channel import Channel
from sparkmirror.protocol import produce
from sparkmirror.protocol.fetch import TopicKey

MOST_UNDER_WAY = 5
REQUEST_BYTES = 8 << 20
ACK_TIMEOUT_MS = 30_000

Sent = dict[tuple[TopicKey, int], tuple[Cursor, Ready]]


class Appender:
    """One target broker."""

    def __init__(self, node: int, channel: Channel) -> None:
        self.node = node
        self.channel = channel
        by_id = channel.supports(produce.API_KEY, produce.BY_ID)
        self.version = produce.BY_ID if by_id else produce.BY_NAME
        self._turn: deque[Cursor] = deque()

    @property
    def has_room(self) -> bool:
        return len(self.channel.pending) < MOST_UNDER_WAY

    def offer(self, cursor: Cursor) -> None:
        """Batches are queued for a partition that this broker leads."""
        if not cursor.in_turn:
            cursor.in_turn = True
            self._turn.append(cursor)

    def send(self) -> None:
        """Send requests while there is room and something is queued."""
        while self._turn and self.has_room:
            self._send_next()

    def _send_next(self) -> None:
        """One batch from each cursor in turn, up to the size of a request."""
        sent: Sent = {}
        topics: dict[TopicKey, list[tuple[int, produce.Buffer]]] = {}
        size = 0
        again = []
        while self._turn and size < REQUEST_BYTES:
            cursor = self._turn.popleft()
            if cursor.queue and cursor.target_node == self.node:
                ready = cursor.queue.popleft()
                size += len(ready.batch)
                sent[cursor.target_key, cursor.leased.partition] = (cursor, ready)
                topics.setdefault(cursor.target_key, []).append((cursor.leased.partition, ready.batch))
            if cursor.queue and cursor.target_node == self.node:
                again.append(cursor)
            else:
                cursor.in_turn = False
        self._turn.extend(again)
        if not sent:
            return
        pieces = produce.encode_produce(self.version, topics, timeout_ms=ACK_TIMEOUT_MS)
        self.channel.send(
            produce.API_KEY,
            self.version,
            pieces,
            flexible=self.version >= produce.FLEXIBLE_FROM,
            tag=sent,
            timeout_s=ACK_TIMEOUT_MS / 1000 + 5,
        )

    def take(self, sent: Sent, frame: memoryview) -> list[tuple[Cursor, Ready, produce.ProducedPartition]]:
        """The answers for batches of cursors that were not lost since."""
        _, answers = produce.parse_produce(self.version, frame)
        news = []
        for answer in answers:
            known = sent.get((answer.topic, answer.partition))
            if known is None:
                raise ProtocolError(f"{self.channel} answered for a partition that was not sent")
            cursor, ready = known
            if ready.term == cursor.term:
                news.append((cursor, ready, answer))
        return news

    def leave(self) -> None:
        self.channel.close()
