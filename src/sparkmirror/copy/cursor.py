"""A partition's place in the copy: what was fetched, what waits, what is in flight, where both logs stand.

    LOST     position unknown: a scout is asked, again after a growing pause
    COPYING  fetch and append go on
    STOPPED  a named fact forbids to go on within this lease
    DONE     copied up to `stop_at`

Each time a cursor is lost its term grows. Answers that belong to an earlier term are not looked at: the
position was found anew after them, from the target itself.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import NamedTuple

from sparkmirror.batch.classify import check_passes
from sparkmirror.batch.header import BatchHeader, has_valid_crc, patch_batch, split_batches
from sparkmirror.copy.lease import Hint, LeasePartition
from sparkmirror.copy.position import SEQUENCE_MASK, Position
from sparkmirror.errors import MirrorError, ProtocolError
from sparkmirror.protocol.fetch import FetchedPartition, TopicKey

PRODUCER_EPOCH = 0
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


class State(Enum):
    LOST = "lost"
    COPYING = "copying"
    STOPPED = "stopped"
    DONE = "done"


class Ready(NamedTuple):
    """A batch that is patched and waits to be appended, or for its answer."""

    term: int
    header: BatchHeader
    batch: memoryview
    sequence: int

    @property
    def last_sequence(self) -> int:
        return (self.sequence + self.header.records - 1) & SEQUENCE_MASK


class Cursor:
    """One partition of a lease."""

    def __init__(self, leased: LeasePartition, producer_id: int) -> None:
        self.leased = leased
        self.place = (leased.topic, leased.partition)
        self.producer_id = producer_id
        self.state = State.LOST
        self.term = 0
        self.hint = leased.hint
        self.source_node = self.target_node = -1
        self.source_key: TopicKey = leased.topic
        self.target_key: TopicKey = leased.remote
        self.leader_epoch = -1
        self.fetch_offset = 0  # the next source offset to ask for
        self.sequence = 0  # of the next batch to be patched
        self.target_next = 0  # the offset that the next answer must name
        self.queue: deque[Ready] = deque()
        self.in_turn = False  # waits in its appender's line
        self.held_bytes = 0
        self.is_out_of_range = False  # the source refused the offset: look why
        self.reason = ""
        self.pending_fact: MirrorError | None = None  # holds once all that was queued is appended
        self.retry_at = 0.0
        self._pause_s = FIRST_PAUSE_S

    def __str__(self) -> str:
        return f"{self.leased.topic}-{self.leased.partition}"

    def settle(self, position: Position) -> None:
        """Go on from a position that the target's log gave."""
        self.state = State.COPYING
        self.fetch_offset = self.target_next = position.next_offset
        self.sequence = position.sequence
        self.hint = Hint(position.next_offset, position.sequence - 1, position.next_offset)
        self.reason = ""
        self._note_done()

    def lose(self, reason: str, now: float) -> None:
        """Forget what is queued and in flight, and ask the target again after a pause."""
        if self.state is not State.STOPPED:
            self._leave(State.LOST)
            self.reason = reason
            self.retry_at = now + self._pause_s
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)

    def stop(self) -> None:
        """Nothing more is written to this partition within the lease."""
        self._leave(State.STOPPED)

    def _leave(self, state: State) -> None:
        self.state = state
        self.term += 1
        self.queue.clear()
        self.held_bytes = 0
        self.pending_fact = None

    def take_fetched(self, fetched: FetchedPartition) -> None:
        """Queue the batches of a fetch, patched; stop at the first that can't pass."""
        self.is_out_of_range = False
        for header, batch in split_batches(fetched.records):
            if header.magic == 2 and header.end <= self.fetch_offset:
                continue
            stop_at = self.leased.stop_at
            if stop_at is not None and header.first >= stop_at:
                break
            check_passes(header, self.fetch_offset, fetched.aborted)
            if not has_valid_crc(batch, header):
                raise ProtocolError(f"{self}: the batch at offset {header.first} arrived with a wrong CRC")
            patch_batch(batch, header, self.producer_id, PRODUCER_EPOCH, self.sequence)
            self.queue.append(Ready(self.term, header, batch, self.sequence))
            self.held_bytes += len(batch)
            self.sequence = (self.sequence + header.records) & SEQUENCE_MASK
            self.fetch_offset = header.end

    def take_answer(self, ready: Ready, base_offset: int) -> None:
        """A batch was appended. Its offset must be the one that it has at the source."""
        header = ready.header
        if base_offset != self.target_next:
            raise MirrorError(
                "diverged",
                f"source offset {header.first} was appended at target offset {base_offset} where {self.target_next} "
                "was expected: somebody else writes into the target topic",
            )
        self.held_bytes -= len(ready.batch)
        self.target_next = base_offset + header.records
        self.hint = Hint(header.end, ready.last_sequence, self.target_next)
        self._pause_s = FIRST_PAUSE_S
        self._note_done()

    def _note_done(self) -> None:
        if self.leased.stop_at is not None and self.target_next >= self.leased.stop_at:
            self._leave(State.DONE)
