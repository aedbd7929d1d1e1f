"""Plain traffic of a lease, carried over by compiled code for as long as it is plain.

    COPYING cursors, drained --open--> lane --ride, ride, ...--leave--> the same cursors, further on

As long as a lane is open, its table knows where the partitions stand and its state what is under way; cursors and
channels do not. `settle` tells cursors and book what was acknowledged. `leave` gives all of it back: what was asked and
not answered, what was read and not used, what must be sent before all else. So whatever ends a lane, the copy goes on
with fetchers, appenders and channels that are as if they had done it all themselves.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from sparkmirror.copy.appender import KNOWN_S, Appender, Batches
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lane import gather
from sparkmirror.copy.lane import ride as r
from sparkmirror.copy.lane import table as t
from sparkmirror.copy.lane.carry import MOST_TURNS, make_desk
from sparkmirror.copy.lane.hands import Hands
from sparkmirror.copy.lane.system import IS_HERE
from sparkmirror.copy.lease import Bounds, Rules
from sparkmirror.copy.queue import NO_BATCH, Ready
from sparkmirror.copy.receipt import ReceiptBook
from sparkmirror.copy.roster import HELD_BYTES
from sparkmirror.net.channel import RECORD_BYTES, Pending
from sparkmirror.protocol import fetch, produce

MOST_BYTES = 4 << 20  # of a source's answer
LEAST_BYTES = 256 << 10  # with less memory there is no lane
SPARE_BYTES = 64 << 10  # of an answer beside the records that are asked for
ANSWER_BYTES = 64 << 10
LEAST_S = 0.2  # for less it is not worth it
NS = 1_000_000_000

Side = Fetcher | Appender


class Lane:
    """`others`: a file that is ready when somebody else has something to do; `most_bytes`: of a source's answer."""

    def __init__(
        self,
        fetchers: Mapping[Fetcher, Sequence[Cursor]],
        appenders: Mapping[int, Appender],
        others: int,
        rules: Rules,
        most_bytes: int,
    ) -> None:
        self.fetchers = list(fetchers)
        self.appenders = list(appenders.values())
        source_of = {cursor: index for index, cursors in enumerate(fetchers.values()) for cursor in cursors}
        self._cursors = sorted(source_of, key=lambda cursor: cursor.place)
        target_of = {node: index for index, node in enumerate(appenders)}
        sources = t.number([cursor.source_key for cursor in self._cursors])
        targets = t.number([cursor.target_key for cursor in self._cursors])
        rows = [
            cursor.lend(
                source_of[cursor], sources[cursor.source_key], target_of[cursor.target_node], targets[cursor.target_key]
            )
            for cursor in self._cursors
        ]
        self._setting = self._make_setting(list(sources), list(targets), rows, rules.isolation)
        self._state = self._make_state(rows, others, rules.bounds, most_bytes)
        self._desk = make_desk(
            len(rows),
            len(self.appenders),
            most_bytes,
            fetch.encode_tail(self.fetchers[0].version, rules.rack),
            int(self._setting.keys[0].starts[-1]),
            r.FRONT_BYTES + max(len(head) for head in self._setting.heads),
        )
        self._hands = Hands(
            [f.channel for f in self.fetchers], [a.channel for a in self.appenders], self._state, self._desk
        )
        self.must_end_at = min(side.channel.must_renew_at for side in self.sides)

    @property
    def sides(self) -> list[Side]:
        return [*self.fetchers, *self.appenders]

    def _make_setting(
        self, sources: list[fetch.TopicKey], targets: list[fetch.TopicKey], rows: list[list[int]], isolation: int
    ) -> r.Setting:
        versions = self.fetchers[0].version, self.appenders[0].version
        by_id = versions[0] == fetch.BY_ID, versions[1] == produce.BY_ID
        channels = self.fetchers[0].channel, self.appenders[0].channel
        return r.Setting(
            by_hand=any(side.channel.is_secret for side in self.sides),
            sealed_bytes=RECORD_BYTES,
            by_id=by_id,
            versions=versions,
            keys=(
                t.make_keys(sources, [(row[t.TOPIC], row[t.PARTITION]) for row in rows]),
                t.make_keys(targets, [(row[t.TARGET_TOPIC], row[t.TARGET_PARTITION]) for row in rows]),
            ),
            heads=tuple(  # type: ignore[arg-type]
                np.array(bytearray(channel.client + b"\0" * flexible), np.uint8)
                for channel, flexible in zip(channels, by_id, strict=True)
            ),
            isolation=isolation,
            partition_bytes=self.fetchers[0].partition_bytes,
            timeout_ms=self.appenders[0].timeout_ms,
            known_ns=int(KNOWN_S * NS),
        )

    def _make_state(self, rows: list[list[int]], others: int, bounds: Bounds, most_bytes: int) -> r.State:
        targets, batches = len(self.appenders), (r.MOST_FLIGHTS, len(rows), t.SENT_COLUMNS)
        files = [side.channel.fileno() for side in self.sides]
        state = r.State(
            table=np.array(rows, np.int64),
            sources=np.zeros((len(self.fetchers), r.SOURCE_COLUMNS), np.int64),
            targets=np.zeros((targets, r.TARGET_COLUMNS), np.int64),
            gathering=np.array([gather.plan_gathering(bounds, time.monotonic_ns())] * len(self.fetchers), np.int64),
            flights=np.zeros((targets, r.MOST_FLIGHTS, r.FLIGHT_COLUMNS), np.int64),
            batches=np.empty((targets, *batches), np.int64),
            arrived=np.empty((len(self.fetchers), most_bytes), np.uint8),
            answers=np.empty((targets, ANSWER_BYTES + 64 * len(rows)), np.uint8),
            files=np.array([[file, 0] for file in (*files, others)], np.int32),
            unsent=np.empty((1 + MOST_TURNS * targets, 3), np.int64),
            scratch=np.zeros(r.SCRATCH, np.int64),
        )
        asked_bytes = min(bounds.fetch_bytes or MOST_BYTES, most_bytes - SPARE_BYTES)
        counts = np.bincount(state.table[:, t.SOURCE], minlength=len(self.fetchers)).tolist()
        for row, fetcher, partitions in zip(state.sources, self.fetchers, counts, strict=True):
            epoch, asked_at, wait_s = fetcher.request
            row[r.S_FILE], row[r.S_CORRELATION] = (
                fetcher.channel.fileno(),
                fetcher.channel.pending.popleft().correlation,
            )
            row[r.S_SESSION], row[r.S_EPOCH], row[r.S_MOST_BYTES] = fetcher.session_id, epoch, asked_bytes
            row[r.S_ASKED_AT], row[r.S_WAITS_MS], row[r.S_AWAITED] = asked_at * NS, wait_s * 1000, 1
            row[r.S_FULL_BYTES] = fetcher.full_bytes(asked_bytes, partitions)
            fetcher.channel.wake_at(1)
        for row, appender in zip(state.targets, self.appenders, strict=True):
            row[r.T_FILE], row[r.T_CORRELATION] = appender.channel.fileno(), appender.channel.lend(0.0)
            appender.channel.wake_at(1)
        return state

    def ride(self, until: float, lease_ends: float) -> int:
        """Until that time at the latest. Why it ended (`lane/ride.py`)."""
        self._state.scratch[r.LEASE_ENDS] = int(lease_ends * NS)
        while True:
            ended = r.ride(int(until * NS), self._setting, self._state, self._desk)
            if ended == r.READ:
                if not self._hands.read():
                    return r.GONE
            elif not (self._setting.by_hand and ended == r.UNSENT and self._hands.send(lease_ends)):
                return ended

    # -- what was done

    def settle(self, book: ReceiptBook) -> int:
        """Tell of what was acknowledged. By how many more records are held than the cursors knew of."""
        table, held = self._state.table, 0
        for number in np.flatnonzero(table[:, t.IS_DIRTY]).tolist():
            held += self._settle(number, book)
        return held

    def _settle(self, number: int, book: ReceiptBook) -> int:
        cursor, row = self._cursors[number], self._state.table[number].tolist()
        held = cursor.take_back(row)
        if row[t.IS_DIRTY]:
            self._state.table[number, t.IS_DIRTY] = 0
            book.note_copied(
                cursor.place, row[t.RUN_SOURCE], row[t.RUN_TARGET], count=row[t.RECORDS], size=row[t.BYTES],
                rebuilt=row[t.REBUILT], standing=cursor.hint,
            )  # fmt: skip
        return held

    def leave(self, book: ReceiptBook) -> int:
        """Give all of it back. As `settle`, of all partitions."""
        held = sum(self._settle(number, book) for number in range(len(self._cursors)))
        unsent = self._find_unsent()
        for index, fetcher in enumerate(self.fetchers):
            self._return_source(index, fetcher, unsent.get(-1 - index, []))
        for index, appender in enumerate(self.appenders):
            self._return_target(index, appender, unsent.get(index, []))
        return held

    def _find_unsent(self) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        for side, piece in self._hands.find_unsent():
            found.setdefault(side, []).append(bytes(piece))
        return found

    def _return_source(self, index: int, fetcher: Fetcher, unsent: Sequence[bytes]) -> None:
        row = self._state.sources[index].tolist()
        asked_at, wait_s = row[r.S_ASKED_AT] / NS, row[r.S_WAITS_MS] / 1000
        pending = [] if row[r.S_IS_IDLE] else [fetcher.pending_of(row[r.S_CORRELATION], asked_at, wait_s)]
        fetcher.channel.take_back(
            row[r.S_CORRELATION], pending, self._state.arrived[index, : row[r.S_HERE]].data, unsent
        )
        fetcher.channel.note_wake_at(row[r.S_AWAITED])
        mine = (cursor for cursor, at in zip(self._cursors, self._state.table, strict=True) if at[t.SOURCE] == index)
        asked_bytes = 0 if row[r.S_IS_IDLE] else row[r.S_MOST_BYTES]
        fetcher.come_back(mine, row[r.S_EPOCH], asked_at, wait_s, asked_bytes)
        fetcher.was_full = bool(row[r.S_WAS_FULL])

    def _return_target(self, index: int, appender: Appender, unsent: Sequence[bytes]) -> None:
        row = self._state.targets[index].tolist()
        pending = [self._pending_of(index, (row[r.T_FIRST] + i) % r.MOST_FLIGHTS) for i in range(row[r.T_COUNT])]
        read = self._state.answers[index, : row[r.T_HERE]].data
        appender.channel.take_back(row[r.T_CORRELATION], pending, read, unsent)
        appender.come_back(time.monotonic())

    def _pending_of(self, target: int, slot: int) -> Pending:
        """An append as the appender would have it."""
        correlation, count, sent_at = self._state.flights[target, slot].tolist()
        found = {}
        for number, first, end, size, sequence, rebuilt in self._state.batches[target, slot, :count].tolist():
            cursor = self._cursors[number]
            ready = Ready(cursor.term, first, end, NO_BATCH, size, sequence, bool(rebuilt))
            found[cursor.target_key, cursor.leased.target_partition] = (cursor, ready)
        return self.appenders[target].pending_of(correlation, Batches(found), sent_at / NS)

    @property
    def has_backlog(self) -> bool:
        return bool(self._state.sources[:, r.S_WAS_FULL].any())

    def is_late(self, now: float, longest_s: float) -> bool:
        """Whether something has been waiting for its answer for so long, or for longer than it may."""
        longest_s = min(longest_s, *(side.channel.request_timeout_s for side in self.sides))
        oldest = [
            self._state.flights[index, row[r.T_FIRST], r.F_AT]
            for index, row in enumerate(self._state.targets)
            if row[r.T_COUNT]
        ]
        oldest += [row[r.S_ASKED_AT] + 1_000_000 * row[r.S_WAITS_MS] for row in self._state.sources]
        return any(now - at / NS >= longest_s for at in oldest)


def open_lane(
    fetchers: Mapping[Fetcher, Sequence[Cursor]],
    appenders: Mapping[int, Appender],
    others: int,
    rules: Rules,
) -> Lane | None:
    """None: not all of it is plain, or something is under way."""
    now = time.monotonic()
    fetchers = {fetcher: cursors for fetcher, cursors in fetchers.items() if cursors}
    bounds = rules.bounds
    # What arrives, is written anew (twice as much), and goes out.
    most_bytes = min(MOST_BYTES, (bounds.held_bytes or HELD_BYTES) // (len(fetchers) + 3))
    most_bytes = min(most_bytes, bounds.request_bytes or most_bytes)
    if not IS_HERE or not fetchers or not appenders or most_bytes < LEAST_BYTES:
        return None
    if len({f.version for f in fetchers}) > 1 or len({a.version for a in appenders.values()}) > 1:
        return None
    if not all(fetcher.asks_for(cursors) and _are_plain(cursors) for fetcher, cursors in fetchers.items()):
        return None
    if not all(appender.is_free and now >= appender.paused_until for appender in appenders.values()):
        return None
    channels = [*(fetcher.channel for fetcher in fetchers), *(appender.channel for appender in appenders.values())]
    if any(channel.lend(now + LEAST_S) is None for channel in channels):
        return None
    return Lane(fetchers, appenders, others, rules, most_bytes)


def _are_plain(cursors: Collection[Cursor]) -> bool:
    """Whether nothing but the usual is to be expected of them, and nothing of them is under way."""
    return all(_is_plain(cursor) for cursor in cursors)


def _is_plain(cursor: Cursor) -> bool:
    queue = cursor.queue
    return (
        cursor.state is State.COPYING
        and cursor.is_drained
        and not queue.skip_producers
        and not queue.leave_out
        and queue.largest_record >= queue.largest
        and queue.position == cursor.source_next == cursor.fetch_offset
        and cursor.leased.stop_at is None
        and not (cursor.is_shared or cursor.is_misplaced or cursor.is_at_follower or cursor.owes_word)
        and cursor.pending_fact is None
        and cursor.failing_since is None
    )
