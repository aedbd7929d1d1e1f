"""A partition's place in the copy: what waits, what is in flight, where both logs stand.

    LOST     position unknown: a scout is asked, again after a growing pause
    COPYING  fetch and append go on
    STOPPED  a named fact forbids to go on within this lease
    DONE     copied up to `stop_at`

Each time a cursor is lost its queue's term grows. Answers that belong to an earlier term are not looked at: the
position was found anew after them, from the target itself.

    source log   | copied ...          | in flight, queued ...      | not fetched
                                       ^ source_next                ^ fetch_offset
    target log   | copied ...          |
                                       ^ target_next: where the next answer must begin
"""

from __future__ import annotations

from enum import Enum

from sparkmirror.batch.rewrite import Run
from sparkmirror.copy import facts
from sparkmirror.copy.held import Held
from sparkmirror.copy.lane import table
from sparkmirror.copy.lease import Errors, LeasePartition
from sparkmirror.copy.place import Place, Position, standing_of
from sparkmirror.copy.queue import SEQUENCE_MASK, CopyQueue, Ready
from sparkmirror.errors import MirrorError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.denial import describe_denial
from sparkmirror.protocol import codes
from sparkmirror.protocol.fetch import FetchedPartition, TopicKey
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.standing import Standing

WENT_WELL_S = 5.0
NOT_FOUND = Standing(-1)


class State(Enum):
    LOST = "lost"
    COPYING = "copying"
    STOPPED = "stopped"
    DONE = "done"


class Cursor:
    """One partition of a lease."""

    def __init__(
        self, leased: LeasePartition, producer_id: int, errors: Errors | None = None, held: Held | None = None
    ) -> None:
        self.leased = leased
        self.place = (leased.topic, leased.partition)
        self.remote = (leased.remote, leased.target_partition)
        self.state = State.LOST
        self.hint = leased.hint
        self.queue = CopyQueue(producer_id if leased.producer_id is None else leased.producer_id, held)
        self.source_node = self.target_node = -1
        self.read_node = -1  # the source's leader, or a follower that is nearer (KIP-392)
        self.source_key: TopicKey = leased.topic
        self.target_key: TopicKey = leased.remote
        self.leader_epoch = -1
        self.fetch_offset = 0
        self.source_next = 0
        self.target_next = 0
        self.in_flight = 0  # requests that write to this partition
        self.known_until = 0.0  # the target's leader has taken a batch of our producer, and has hardly forgotten it yet
        self.is_fenced = False  # a marker of ours has shut out every earlier writer of markers
        self.is_filling = False
        self.fill_began = 0.0  # when the hole at the head began to hold up what comes behind it
        self.fill_attempt = 0  # grows when a fill's answer was lost: it may still be written
        self.rests_until = 0.0  # others have more need of the memory
        self.is_misplaced = False  # what is in flight goes into a topic that was made anew
        self.is_out_of_range = False  # the source refused the offset: look why
        self.is_forgotten = False  # the target's leader does not know our producer any more
        # Others may write into the target, too: offsets there are what the answers say.
        self.is_shared = leased.producer_id is not None
        self.raised: set[str] = set()  # limits of the target topic that were raised in this lease
        self.unequal = ""  # why equal offsets must be given up here
        self.reason = ""
        self.said_reason = ""  # why it waits, as it was last said
        self.owes_word = False  # that it goes on, when that is proven
        self.pending_fact: MirrorError | None = None  # holds once all that was queued is appended
        self.retry_at = 0.0
        self.failing_since: float | None = None  # no try has gone well since
        self._failed_before_s = leased.failing_s
        self._settled_at = 0.0
        self._last_sequence = -1
        self._stood = NOT_FOUND  # when it was found
        self._accepts = leased.accepts
        self.is_as_left = False  # the hint tells of all that this lease and those before have written
        self._has_unanswered = False  # what this lease has sent may still be written
        self._errors = errors or Errors()
        self._pause_s = self._errors.first_pause_s

    def __str__(self) -> str:
        return f"{self.leased.topic}-{self.leased.partition}"

    @property
    def term(self) -> int:
        return self.queue.term

    @property
    def held_bytes(self) -> int:
        return self.queue.held_bytes

    @property
    def is_at_follower(self) -> bool:
        return self.read_node != self.source_node

    @property
    def is_drained(self) -> bool:
        """All that was fetched stands in the target."""
        return not self.queue and not self.in_flight

    @property
    def left(self) -> Standing | None:
        """What the lease leaves to the next, which is all that was written. None if it was not found since it was lost:
        what is noted of it meanwhile is newer, and all before was told.
        """
        is_known = self._stood is not NOT_FOUND and not (self.is_shared and self._has_unanswered)
        return self.hint if is_known else None

    def locate(
        self, source: Metadata, target: Metadata, addresses: tuple[ClusterAddress, ClusterAddress]
    ) -> Place | MirrorError | str:
        """Where the partition is on both sides; or why it is nowhere at the moment, or till somebody does something."""
        leased = self.leased
        here, there = source.topics.get(leased.topic), target.topics.get(leased.remote)
        for side, (name, number), info, needs, address in (
            ("source", self.place, here, "READ", addresses[0]),
            ("target", self.remote, there, "WRITE", addresses[1]),
        ):
            if info and info.error in codes.FORBIDDEN:
                return facts.unauthorized(describe_denial(address, Right(needs, TOPIC, name), info.error))
            if info is None or info.error or number not in info.leaders:
                return f"the {side} has no {name}-{number} ({codes.name_of(info.error) if info else 'gone'})"
            if info.leaders[number].node < 0:
                return f"{side} {name}-{number} has no leader"
        assert here is not None and there is not None
        return Place(
            leased.partition,
            here,
            there,
            self.hint,
            check_range=self.is_out_of_range,
            unequal=self.unequal,
            stop_at=leased.stop_at,
            is_forgotten=self.is_forgotten,
            onto=leased.onto,
            producer_id=leased.producer_id,
            is_new=leased.is_new,
            is_as_left=self.is_as_left,
            accepts=self._accepts,
        )

    def settle(self, place: Place, position: Position, now: float) -> None:
        """Go on from a position that the target's log gave."""
        self.state = State.COPYING
        self._settled_at = now
        self.queue.restart(position.next_offset, (position.last_sequence + 1) & SEQUENCE_MASK)
        self.queue.fills_holes = not position.translated
        self.queue.add_hole(position.fetch_from)
        self.queue.epoch = position.source_epoch
        self.fetch_offset = self.queue.position
        self.source_next, self.target_next = position.next_offset, position.target_next
        self._last_sequence = position.last_sequence
        self._stood = standing_of(place, position)
        self.reason = self.unequal = ""
        self.known_until = 0.0
        self.is_out_of_range = self.is_forgotten = False
        self.is_as_left = not self._has_unanswered
        if place.passed:  # and not again
            self._accepts = ""
        self._note_position()

    def search_on(self, place: Place, position: Position) -> None:
        """Not all of the target's log was read: the next search begins where this one ended."""
        self.hint = standing_of(place, position)

    def lose(self, reason: str, now: float) -> None:
        """Forget what is queued and in flight, and ask the target again after a pause."""
        if self.state is not State.STOPPED:
            self._leave(State.LOST)
            self._stood = NOT_FOUND
            self.reason = reason
            self.retry_at = now + self._pause_s
            self._pause_s = min(self._pause_s * 2, self._errors.longest_pause_s)

    def note_failure(self, now: float) -> None:
        """Before it is lost: a partition that had nothing to append for a while, and did not fail, fails anew."""
        if self.state is State.COPYING:
            self.note_success(now)
        if self.failing_since is None:
            self.failing_since = now

    def note_success(self, now: float) -> None:
        """Before something new is taken: nothing was left to append, and nothing has failed for a while."""
        if self.is_drained and now - self._settled_at > WENT_WELL_S:
            self.failing_since, self._failed_before_s = None, 0.0

    def failing_s(self, now: float) -> float:
        """For so long nothing has gone well, with what earlier leases have tried."""
        return 0.0 if self.failing_since is None else now - self.failing_since + self._failed_before_s

    def stop(self) -> None:
        """Nothing more is written to this partition within the lease."""
        self._leave(State.STOPPED)

    def _leave(self, state: State) -> None:
        if self.in_flight or self.is_misplaced:
            self.is_as_left, self._has_unanswered = False, True
        self.state = state
        if self.is_filling:
            self.is_fenced, self.is_filling = False, False
            self.fill_attempt += 1
        self.queue.clear()
        self.in_flight = 0
        self.is_misplaced = False
        self.fill_began = 0.0
        self.pending_fact = None

    def give_back(self) -> None:
        """Forget what waits behind what is in flight, to fetch it again later."""
        self.queue.give_back()
        self.fetch_offset = self.queue.position
        self.pending_fact = None

    def take_fetched(self, fetched: FetchedPartition) -> None:
        """Queue the batches of a fetch; what comes before one that can't be read is queued."""
        self.is_out_of_range = False
        try:
            self.queue.add(fetched, self.leased.stop_at)
        finally:
            self.fetch_offset = max(self.fetch_offset, self.queue.position)
            self.note_passed()

    def take_runs(self, runs: list[tuple[Run, int]], end: int) -> None:
        """Queue records that were encoded elsewhere; up to `end` there are no others."""
        self.queue.epoch = -1  # rows do not say it
        self.queue.add_runs(runs)
        self.queue.add_hole(end)
        self.note_passed()

    def take_answer(self, ready: Ready, base_offset: int) -> None:
        """A batch was appended. Where offsets are equal, it must stand where the source has it."""
        is_repeated = base_offset < self.target_next
        if is_repeated and self.is_shared and self.leased.producer_id is None:
            raise facts.spread_rows(str(self))  # answered as a repetition of another task's batch
        if is_repeated:
            raise MirrorError(
                "diverged",
                f"source offset {ready.first} was appended at target offset {base_offset} where {self.target_next} "
                f"was expected: the target's log was cut back; {facts.ANEW}",
            )
        if base_offset > self.target_next and not self.is_shared:
            raise facts.foreign_writer(self.leased.remote, self.target_next, base_offset)
        self.in_flight -= 1
        records = ready.records
        self.queue.held_records -= records
        self.source_next = ready.end
        self.target_next = base_offset + records
        self._last_sequence = ready.last_sequence
        self._pause_s = self._errors.first_pause_s
        self.failing_since, self._failed_before_s = None, 0.0
        self.note_passed()

    def lend(self, source: int, topic: int, target: int, target_topic: int) -> list[int]:
        """What a lane needs to go on from here (`lane/table.py`)."""
        queue = self.queue
        row = [0] * table.COLUMNS
        row[table.SOURCE], row[table.TOPIC], row[table.PARTITION] = source, topic, self.leased.partition
        row[table.LEADER_EPOCH] = self.leader_epoch
        row[table.TARGET], row[table.TARGET_TOPIC] = target, target_topic
        row[table.TARGET_PARTITION], row[table.PRODUCER] = self.leased.target_partition, queue.producer_id
        row[table.LARGEST] = queue.largest
        row[table.POSITION], row[table.SEQUENCE], row[table.EPOCH] = queue.position, queue.sequence, queue.epoch
        row[table.SOURCE_NEXT], row[table.TARGET_NEXT] = self.source_next, self.target_next
        row[table.LAST_SEQUENCE], row[table.KNOWN_UNTIL] = self._last_sequence, int(self.known_until * 1e9)
        return row

    def take_back(self, row: list[int]) -> int:
        """Go on from where a lane has come to. By how many more records are held."""
        queue, held = self.queue, row[table.HELD] - self.queue.held_records
        queue.position = self.fetch_offset = row[table.POSITION]
        queue.sequence, queue.epoch, queue.held_records = row[table.SEQUENCE], row[table.EPOCH], row[table.HELD]
        self.source_next, self.target_next = row[table.SOURCE_NEXT], row[table.TARGET_NEXT]
        self.in_flight, self.known_until = row[table.IN_FLIGHT], row[table.KNOWN_UNTIL] / 1e9
        self._last_sequence = row[table.LAST_SEQUENCE]
        if row[table.IS_DIRTY]:
            self._pause_s = self._errors.first_pause_s
            self.failing_since, self._failed_before_s = None, 0.0
        self._note_position()
        return held

    def take_filled(self, count: int) -> None:
        """So many markers were written into the hole at the head."""
        self.in_flight -= 1
        self.is_filling = False
        self.queue.fill(count)
        self.source_next += count
        self.target_next += count
        self.note_passed()

    def note_passed(self) -> None:
        """Where holes are not filled, nothing is written for them: they are passed when all before them is there."""
        if not self.queue.fills_holes and self.is_drained:
            self.source_next = self.queue.position
        self._note_position()

    def _note_position(self) -> None:
        # Once a batch, so not by `_replace`, which takes much longer.
        self.hint = Standing(
            self.source_next, self._last_sequence, self.target_next, self.queue.epoch, *self._stood[4:]
        )
        if self.leased.stop_at is not None and self.source_next >= self.leased.stop_at:
            self._leave(State.DONE)
