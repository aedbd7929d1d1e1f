"""All partitions of a lease and what becomes of them: the decisions between fetch and append.

The loop (`copy.copy`) owns connections and time; the roster owns cursors, the bytes that they hold, and the
receipts that are written of them.
"""

from __future__ import annotations

from collections.abc import Callable

from sparkmirror.batch.build import MOST_TOGETHER_BYTES
from sparkmirror.batch.codec import MAX_OUTPUT_BYTES
from sparkmirror.batch.records import describe_record
from sparkmirror.copy import facts
from sparkmirror.copy.appender import Appended, Appender, Checked, Event, Filled
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.held import Held
from sparkmirror.copy.lease import CONTINUE, FENCE_STEP, NOTHING, Lease, LeasePartition, Rules
from sparkmirror.copy.limits import TIMESTAMPS, LimitRaise, message_bytes
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.receipt import GOES_ON, NOTED, PASSED, SAID, STOPPED, WAITING, ReceiptBook
from sparkmirror.errors import MirrorError, ProtocolError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.denial import describe_denial
from sparkmirror.protocol import codes, fetch
from sparkmirror.shown import LONGEST_SAID, shown
from sparkmirror.topology.command import set_configs
from sparkmirror.topology.least_rights import TO_USE_TRANSACTIONS, TO_WRITE_MARKERS
from sparkmirror.topology.right import TOPIC, Right

HELD_BYTES = 32 << 20
OPENED_SHARE = 4  # a batch that must be opened may grow to so much of what is held, for a moment
CURSOR_BYTES = 16 << 20  # one slow partition must not take the room of all
NO_READAHEAD_LIMIT = 1 << 40
FIRST_GUESS_BYTES = 100.0  # of a record
SEARCHING = "the target's log is read for records of ours that nobody wrote down: others have written much behind them"
TELL_SEARCHED = 100_000  # offsets of others: whoever begins anew reads no more of them
RECORD_HEAD_BYTES = 32  # a split batch may be larger than asked for by the head of its last record


class Roster:
    """`raise_limits` sets configurations of a partition's target topic and has the cursor found again afterwards."""

    def __init__(self, lease: Lease, raise_limits: Callable[[Cursor, LimitRaise], None]) -> None:
        self._raise_limits = raise_limits
        self._source, self._target = lease.source, lease.target
        self._producer_id = lease.producer_id
        self.cursors: list[Cursor] = []
        self.lost: set[Cursor] = set()
        self.book = ReceiptBook(lease.flow)
        self.held = Held()
        self.held_records = 0
        bounds = lease.rules.bounds
        self.most_bytes = bounds.held_bytes or HELD_BYTES
        self._cursor_bytes = min(CURSOR_BYTES, self.most_bytes // 2)
        self._average_bytes = 0.0  # of a record, among those that came last
        self._rules: Rules = lease.rules

    def fetchable(self, node: int, now: float) -> list[Cursor]:
        """Partitions that are read from this source broker and may have more."""
        return [
            c
            for c in self.cursors
            if c.state is State.COPYING
            and c.read_node == node
            and c.held_bytes < self._cursor_bytes
            and c.pending_fact is None
            and c.rests_until <= now
        ]

    def give_back(self, cursor: Cursor) -> None:
        """Forget what waits of a partition, to fetch it again later."""
        before = cursor.queue.held_records
        cursor.give_back()
        self.held_records += cursor.queue.held_records - before

    def add(self, leased: LeasePartition) -> Cursor:
        """One more partition, that is lost until its position is found."""
        cursor = Cursor(leased, self._producer_id, self._rules.errors, self.held)
        queue = cursor.queue
        queue.skip_producers = self._rules.skip_producers
        queue.most_open_bytes = min(MAX_OUTPUT_BYTES, max(MOST_TOGETHER_BYTES, OPENED_SHARE * self.most_bytes))
        request_bytes = self._rules.bounds.request_bytes
        if request_bytes is not None:
            queue.largest, queue.largest_request = max(1, request_bytes - RECORD_HEAD_BYTES), request_bytes
            if self._rules.errors.tolerate or self._rules.on_gap == CONTINUE:
                queue.largest_record = request_bytes
        self.cursors.append(cursor)
        self.lost.add(cursor)
        return cursor

    def readahead_bytes(self) -> int:
        """How much may be fetched until enough records are held, judged by those that came last; 0: enough are."""
        most = self._rules.bounds.held_records
        if most is None:
            return NO_READAHEAD_LIMIT
        left = most - self.held_records
        return max(1, int(left * (self._average_bytes or FIRST_GUESS_BYTES))) if left > 0 else 0

    def all_ended(self) -> bool:
        return all(c.state in (State.DONE, State.STOPPED) for c in self.cursors)

    # -- what the source says

    def take_fetched(self, cursor: Cursor, fetched: fetch.FetchedPartition, now: float) -> None:
        if cursor.is_misplaced:
            return
        if fetched.error == codes.OFFSET_OUT_OF_RANGE or fetched.is_diverging:
            cursor.is_out_of_range = True
            self.lose(cursor, "the source has no such offset", now)
        elif fetched.error in codes.PASSING:
            self.lose(cursor, f"source: {codes.name_of(fetched.error)}", now)
        elif fetched.error in codes.FORBIDDEN:
            self._forbidden(cursor, self._source, Right("READ", TOPIC, cursor.leased.topic), fetched.error)
        elif fetched.error:
            self.stop(cursor, facts.refused("source", fetched.error, None))
        elif len(fetched.records):
            cursor.note_success(now)
            before = cursor.fetch_offset
            self.queue(cursor, lambda: cursor.take_fetched(fetched), now)
            if cursor.fetch_offset == before and cursor.state is State.COPYING and cursor.pending_fact is None:
                self.lose(cursor, f"the source sends nothing from offset {before} on that could be used", now)
        elif not cursor.queue and not cursor.in_flight:
            self.note_well(cursor)

    def queue(self, cursor: Cursor, take: Callable[[], None], now: float) -> None:
        """Let a cursor queue what it was given, and see what that means: bytes held, holes, facts."""
        before, records, passed = cursor.held_bytes, cursor.queue.held_records, cursor.source_next
        try:
            take()
        except ProtocolError as error:
            cursor.pending_fact = facts.corrupt(str(error))
        except MirrorError as error:
            cursor.pending_fact = error
        size, records = cursor.held_bytes - before, cursor.queue.held_records - records
        self.held_records += records
        if records > 0:
            self._average_bytes = size / records
        self._note_passed(cursor, passed)
        for offset, batch in cursor.queue.left_out:
            fact = self._oversized(cursor, offset, len(batch))
            if self._rules.errors.tolerate:
                self._note_skipped(cursor, offset, batch, 0, str(fact))
            else:
                self.book.note_fact(cursor.place, NOTED, f"{fact.name}: {fact}")
        cursor.queue.left_out.clear()
        why = self._why_unequal(cursor)
        if why:
            cursor.unequal = why
            self.lose(cursor, why, now)
        else:
            self._stop_if_drained(cursor)

    def _why_unequal(self, cursor: Cursor) -> str:
        """Holes that can't be filled, or are too large to be."""
        hole, cursor.queue.widest = cursor.queue.widest, None
        if hole is None:
            return ""
        if self._rules.fill_with == NOTHING:
            return f"source offsets {hole.first}..{hole.end - 1} are a hole, and the target permits no markers"
        if hole.end - hole.first > self._rules.max_hole:
            return f"source offsets {hole.first}..{hole.end - 1} are a hole beyond offsets.preserve.max.hole"
        return ""

    # -- what the target says

    def take_event(self, appender: Appender, event: Event, now: float) -> None:
        cursor = event.cursor
        cursor.rests_until = 0.0
        error = event.answer.error if isinstance(event, Appended) else event.error
        if error:
            self._failed(event, error, now)
        elif isinstance(event, Appended):
            self._appended(event, now)
        elif isinstance(event, Filled):
            self._filled(appender, event, now)
        else:
            self._checked(event, now)
        if cursor.queue and cursor.target_node == appender.node and cursor.state is State.COPYING:
            appender.offer(cursor)
        self._stop_if_drained(cursor)

    def _appended(self, event: Appended, now: float) -> None:
        cursor, ready = event.cursor, event.ready
        queue, base_offset = cursor.queue, event.answer.base_offset
        is_before = base_offset < cursor.target_next and not cursor.is_shared and isinstance(cursor.target_key, str)
        if cursor.is_misplaced or is_before:
            self._misplaced(cursor, now)
            return
        records, passed = queue.held_records, cursor.source_next
        try:
            cursor.take_answer(ready, base_offset)
        except MirrorError as fact:
            self.stop(cursor, fact)
            return
        self.held_records += queue.held_records - records
        self.note_well(cursor)
        self.book.note_copied(
            cursor.place, ready.first, base_offset, count=ready.records, size=ready.size,
            rebuilt=ready.records if ready.rebuilt else 0, standing=cursor.hint,
        )  # fmt: skip
        self._note_passed(cursor, passed + ready.records)

    def _note_passed(self, cursor: Cursor, expected: int) -> None:
        """Offsets that it passed over without writing anything are holes that are not filled."""
        if cursor.source_next > expected:
            self.book.note_holes(cursor.place, cursor.source_next - expected, cursor.hint)

    def _misplaced(self, cursor: Cursor, now: float) -> None:
        """A batch that names its topic got into one that was made anew. What else is in flight will, too: when all of
        it is answered, the target is looked at."""
        self.give_back(cursor)
        cursor.is_misplaced = True
        cursor.in_flight -= 1
        if not cursor.in_flight:
            self.look_again(cursor, "the target's log is shorter than it was", now)

    def _filled(self, appender: Appender, event: Filled, now: float) -> None:
        if event.is_checked or (event.markers == 1 and event.cursor.is_fenced):
            self._take_filled(event.cursor, event.markers, now)
        else:
            appender.check_end(event)

    def _checked(self, event: Checked, now: float) -> None:
        cursor = event.cursor
        expected = cursor.target_next + event.markers
        if event.log_end == expected:
            cursor.is_fenced = True
            self._take_filled(cursor, event.markers, now)
        else:
            self.lose(cursor, f"the target's log ends at {event.log_end}, not at {expected}", now)

    def _take_filled(self, cursor: Cursor, count: int, now: float) -> None:
        first, target_first = cursor.source_next, cursor.target_next
        waited_s, cursor.fill_began = now - cursor.fill_began, 0.0
        cursor.take_filled(count)
        self.note_well(cursor)
        self.book.note_filled(cursor.place, first, target_first, count=count, waited_s=waited_s, standing=cursor.hint)

    def _failed(self, event: Event, error: int, now: float) -> None:
        cursor = event.cursor
        if error in codes.STALE_WRITER or error in codes.PASSING:
            cursor.is_forgotten = error == codes.UNKNOWN_PRODUCER_ID
            self.lose(cursor, f"target: {codes.name_of(error)}", now)
        else:
            self._refused(event, error, now)

    def _refused(self, event: Event, error: int, now: float) -> None:
        if error in codes.FORBIDDEN:
            self._forbidden(event.cursor, self._target, self._right_to_write(event.cursor, error), error)
        elif isinstance(event, Appended) and error == codes.MESSAGE_TOO_LARGE:
            self._too_large(event, now)
        elif isinstance(event, Appended) and error in codes.FAULTY_RECORD:
            self._faulty(event, error, now)
        else:
            message = event.answer.message if isinstance(event, Appended) else None
            self.stop(event.cursor, facts.refused("target", error, message))

    def _faulty(self, event: Appended, error: int, now: float) -> None:
        """A record is at fault: the partition stops at it, or goes on behind it."""
        message = event.answer.message
        if error == codes.INVALID_TIMESTAMP and self._may_raise(event.cursor, TIMESTAMPS, now):
            return
        if self._rules.errors.tolerate:
            self._leave_out(event, f"{codes.name_of(error)} {shown(message or '', LONGEST_SAID)}".rstrip(), now)
        elif event.ready.records > 1:
            self._split(event, error, now)
        elif error == codes.INVALID_TIMESTAMP:
            self.stop(event.cursor, facts.timestamp_refused(message, self._command(event.cursor, TIMESTAMPS)))
        else:
            self.stop(event.cursor, facts.refused("target", error, message))

    def _oversized(self, cursor: Cursor, offset: int, size: int) -> MirrorError:
        if size > cursor.queue.largest_request:
            return facts.beyond_request(offset, size)
        return facts.too_large(offset, size, self._command(cursor, message_bytes(2 * size)))

    def _command(self, cursor: Cursor, wanted: LimitRaise) -> str:
        """For who may alter the topic."""
        return set_configs(self._target.bootstrap, cursor.leased.remote, dict(wanted.values))

    def _right_to_write(self, cursor: Cursor, error: int) -> Right:
        """A hole is filled by markers or by transactions, all else is a topic's."""
        if error == codes.CLUSTER_AUTHORIZATION_FAILED:
            return TO_WRITE_MARKERS
        if error == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return TO_USE_TRANSACTIONS
        return Right("WRITE", TOPIC, cursor.leased.remote)

    def _forbidden(self, cursor: Cursor, address: ClusterAddress, right: Right, error: int) -> None:
        """Each lease tries again, so it goes on soon after the right was given back."""
        so = f", so nothing is copied from source offset {cursor.source_next} on"
        self.stop(cursor, facts.unauthorized(describe_denial(address, right, error), so))

    def _may_raise(self, cursor: Cursor, wanted: LimitRaise, now: float) -> bool:
        """A limit of a topic that the mirror made is raised, once a lease; others are their owners' decision."""
        if not cursor.leased.is_ours or wanted.name in cursor.raised:
            return False
        cursor.raised.add(wanted.name)
        self.look_again(cursor, f"target: {wanted.name} of {cursor.leased.remote} is raised", now)
        self._raise_limits(cursor, wanted)
        return True

    def _too_large(self, event: Appended, now: float) -> None:
        """A batch is split; a single record can only be left out, if the user wants that."""
        cursor, ready = event.cursor, event.ready
        if ready.records > 1:
            self._split(event, codes.MESSAGE_TOO_LARGE, now)
            return
        if self._may_raise(cursor, message_bytes(2 * ready.size), now):
            return
        fact = self._oversized(cursor, ready.first, ready.size)
        if self._rules.errors.tolerate:
            self._leave_out(event, str(fact), now)
            return
        if self._rules.on_gap != CONTINUE:
            self.stop(cursor, fact)
            return
        cursor.queue.largest_record = ready.size - 1
        self.look_again(cursor, "a record is left out", now)

    def _split(self, event: Appended, error: int, now: float) -> None:
        """Its records are sent again in smaller batches, so that those before a record at fault are copied."""
        event.cursor.queue.shrink(event.ready.size)
        self.look_again(event.cursor, f"target: {codes.name_of(error)}", now)

    def _leave_out(self, event: Appended, why: str, now: float) -> None:
        """Errors are tolerated. A broker that does not say which records it refuses is given smaller batches."""
        cursor, ready = event.cursor, event.ready
        said = [index for index in event.answer.faulty if 0 <= index < ready.records]
        faulty = said if ready.records > 1 else [0]
        for index in faulty:
            cursor.queue.leave_out.add(ready.first + index)
            self._note_skipped(cursor, ready.first + index, ready.batch, index, why)
        if not faulty:
            cursor.queue.shrink(ready.size)
        self.look_again(cursor, "a record is left out", now)

    def _note_skipped(self, cursor: Cursor, offset: int, batch: memoryview, index: int, why: str) -> None:
        """`index`: where in the batch it stands."""
        said = f"the record at source offset {offset} is left out (errors.tolerance): {why}"
        self.book.note_skipped(cursor.place, said)
        if self._rules.errors.log:
            content = f"; {describe_record(batch, index)}" if self._rules.errors.log_content else ""
            self.book.note_fact(cursor.place, SAID, said + content)

    def note_late(self, appender: Appender, now: float) -> None:
        """Say it of partitions whose appends are not acknowledged."""
        longest_s = self._rules.bounds.flush_timeout_s
        for cursor in appender.find_late(now, longest_s):
            fact = facts.late_acknowledgement(str(appender.channel), longest_s)
            self.book.note_fact(cursor.place, WAITING, f"{fact.name}: {fact}")

    def _stop_if_drained(self, cursor: Cursor) -> None:
        """What can't be read stops its partition once all before it stands in the target."""
        if cursor.pending_fact is not None and cursor.is_drained:
            self.stop(cursor, cursor.pending_fact)

    # -- losing, finding, ending

    def lose(self, cursor: Cursor, reason: str, now: float) -> None:
        """Something failed: try again after a pause, unless that was done for long enough."""
        cursor.note_failure(now)
        self._lose(cursor, reason, now)
        most_s = self._rules.errors.retry_timeout_s
        if most_s is not None and cursor.state is State.LOST and cursor.failing_s(now) >= most_s:
            self.stop(cursor, facts.retries_exhausted(most_s, reason))

    def look_again(self, cursor: Cursor, reason: str, now: float) -> None:
        """It goes on in another way, at once."""
        self._lose(cursor, reason, now)
        cursor.retry_at = now

    def _lose(self, cursor: Cursor, reason: str, now: float) -> None:
        self._let_go(cursor)
        cursor.lose(reason, now)
        if cursor.state is State.LOST and cursor.fill_attempt >= FENCE_STEP:
            self._leave_to_next(cursor, "too many answers to markers were lost, the next lease has fences of its own")
        elif cursor.state is State.LOST:
            self.lost.add(cursor)

    def _leave_to_next(self, cursor: Cursor, why: str) -> None:
        cursor.stop()
        self.lost.discard(cursor)
        self.book.note_fact(cursor.place, WAITING, why)

    def _let_go(self, cursor: Cursor) -> None:
        self.held_records -= cursor.queue.held_records

    def stop(self, cursor: Cursor, fact: MirrorError) -> None:
        self._let_go(cursor)
        cursor.stop()
        self.lost.discard(cursor)
        self.book.note_fact(cursor.place, STOPPED, f"{fact.name}: {fact}")

    def settle(self, cursor: Cursor, place: Place, position: Position, now: float) -> None:
        self.lost.discard(cursor)
        cursor.settle(place, position, now)
        self.book.note_mapped(cursor.place, position.runs, cursor.hint)
        known = cursor.leased.hint
        if known and position.searched_end - max(known.searched_end, known.target_end) >= TELL_SEARCHED:
            self.book.note_standing(cursor.place, cursor.hint)
        cursor.owes_word = cursor.owes_word or cursor.leased.troubled or bool(cursor.said_reason)
        cursor.said_reason = ""
        if cursor.state is State.DONE or place.passed:  # nothing more is asked for, or somebody wants it so
            self.note_well(cursor)
        for note in place.notes:
            self.book.note_fact(cursor.place, NOTED, note)
        for passed in place.passed:
            self.book.note_fact(cursor.place, PASSED, passed)

    def note_well(self, cursor: Cursor) -> None:
        """Say that it goes on if it stood still before. Where it stands does not prove that: a log that is damaged or
        was cut, a record that is refused and a right that is gone are met again by whoever asks for the next records.
        """
        if cursor.owes_word:
            cursor.owes_word = False
            self.book.note_fact(cursor.place, GOES_ON, "")

    def search_on(self, cursor: Cursor, place: Place, position: Position, now: float) -> None:
        """Some of the target's log was read for records of ours, and more is to be read."""
        cursor.search_on(place, position)
        self.book.note_mapped(cursor.place, position.runs, cursor.hint)
        self.book.note_standing(cursor.place, cursor.hint)
        self.look_again(cursor, SEARCHING, now)
        if cursor.said_reason != SEARCHING:
            cursor.said_reason = SEARCHING
            self.book.note_fact(cursor.place, WAITING, SEARCHING)

    def lose_node(self, node: int, *, source: bool, reason: str, now: float) -> None:
        """A connection is gone: all partitions that went over it are looked up anew."""
        for cursor in self.cursors:
            mine = cursor.read_node if source else cursor.target_node
            if mine == node and cursor.state is State.COPYING:
                self.lose(cursor, reason, now)

    def note_waiting(self, now: float, at_least_s: float = 0.0) -> None:
        """Say it once of partitions that have been lost for so long, and why."""
        for cursor in self.lost:
            failing_s = now - cursor.failing_since if cursor.failing_since is not None else 0.0
            if cursor.reason != cursor.said_reason and failing_s >= at_least_s:
                cursor.said_reason = cursor.reason
                self.book.note_fact(cursor.place, WAITING, cursor.reason)
