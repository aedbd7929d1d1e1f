"""The copy of one lease: a selector loop between a fetcher a source broker and an appender a target broker.

    source broker --fetch answer--> cursor: classify, patch, queue --produce--> target broker --> receipt
         ^-- the next fetch goes out before the batches of the last are appended

Nothing in the loop waits but the selector. What must wait for a broker outside of fetch and produce is the
scout's. What was fetched and is not yet acknowledged stays within bounds (`Bounds`), whatever the lag.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Iterator

from sparkmirror.copy.appender import Appender, Filled
from sparkmirror.copy.beginning import NoteStanding
from sparkmirror.copy.cursor import Cursor, State
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.followers import Followers
from sparkmirror.copy.grantor import Grantor, Place, Word
from sparkmirror.copy.lane.lane import Lane, open_lane
from sparkmirror.copy.lane.ride import OTHERS, OVER
from sparkmirror.copy.lease import ASK_SHARE, TRANSACTIONS, Lease
from sparkmirror.copy.limits import LimitRaise
from sparkmirror.copy.links import Links
from sparkmirror.copy.pace import LONGEST_WAIT_MS
from sparkmirror.copy.place import Position
from sparkmirror.copy.receipt import Receipt
from sparkmirror.copy.room import make_room
from sparkmirror.copy.roster import Roster
from sparkmirror.copy.scout import Connections, Finding, Scout, Unreachable
from sparkmirror.copy.throttle import Throttle
from sparkmirror.copy.warm_up import connect_early
from sparkmirror.errors import BrokerError, ConnectionLostError, MirrorError, ProtocolError
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster
from sparkmirror.protocol import fetch, produce
from sparkmirror.topology.standing import Standing

FETCH_BYTES = 8 << 20
RECEIPTS_EVERY_S = 1.0
DRAIN_S = 2.0
WRITING_S = 10.0
RETRY_EVERY_S = 0.02
MAKE_ROOM_EVERY_S = 0.05
LANE_EVERY_S = 0.05  # so often it is looked whether traffic has become plain,
SHORT_LANE_S = 1.0  # and after a lane that did not last for so long, up to so seldom
LONG_LOST_S = 5.0  # what waits for longer is said, also if the lease goes on

SCOUT, GRANTOR = "scout", "grantor"


def _note_nothing(_place: Place, _standing: Standing) -> None:
    return


class Copy:
    """Runs one lease. `note_standing` writes to the progress topic, at once, where a partition stands and how."""

    def __init__(self, lease: Lease, grantor: Grantor, note_standing: NoteStanding = _note_nothing) -> None:
        self.lease = lease
        self._grantor = grantor
        self._started = self._deadline = self._ask_at = 0.0
        self._source = Cluster(lease.source)
        self._target = Cluster(lease.target)
        self._scout = Scout(
            lease,
            self._source,
            self._target,
            unguarded_ok=self._unguarded_ok,
            may_write=lambda: not self._ending and not self._is_over,
            note_standing=self._note,
        )
        self._note_standing = note_standing
        self._noted: dict[Place, Standing] = {}  # of partitions whose finding has not come yet
        self._links = Links(lease, self._scout.fill if lease.rules.fill_with == TRANSACTIONS else None)
        self._links.listen(self._scout.wakeup, SCOUT)
        self._links.listen(grantor, GRANTOR)
        self._roster = Roster(lease, self._raise_limits)
        self._awaited = {(p.topic, p.partition): p for p in lease.partitions}  # not granted yet
        bounds = lease.rules.bounds
        self._held_bytes = self._roster.most_bytes
        self._fetch_bytes = min(FETCH_BYTES, bounds.fetch_bytes or FETCH_BYTES)
        self._has_end = bool(lease.partitions) and all(p.stop_at is not None for p in lease.partitions)
        self._asked: set[Cursor] = set()
        self._followers = Followers(lease.rules.rack)
        self._connecting: set[int] = set()  # source brokers that somebody shall be read from
        self._throttle = Throttle(lease.rules.bytes_per_second, time.monotonic())
        self._make_room_at = 0.0
        self._lane: Lane | None = None
        self._lane_at = self._opened_at = 0.0
        self._lane_pause_s = LANE_EVERY_S
        self._unread: list[Fetcher | Appender] = []  # what a lane has read of them is to be taken
        has_limits = lease.rules.bytes_per_second or bounds.held_records
        self._may_have_lanes = not (has_limits or lease.rules.errors.log_content or self._has_end)
        self._receipts_at = 0.0
        self._ending = False
        self._told: list[Receipt] = []  # to the grantor
        self._measured = 0.0, 0.0  # this process's CPU, and when

    def warm_up(self) -> None:
        """While the turn has not come. A cluster that does not answer is met again in `run`."""
        with contextlib.suppress(ConnectionLostError, ProtocolError, BrokerError):
            self._adopt(connect_early(self.lease, self._source, self._target))

    def run(self, turn: Word) -> Iterator[list[Receipt]]:
        """Copy until the lease ends; yields what the grantor is told, about once a second.

        `turn`: what may be copied at first and until when; the grantor may add to both.
        """
        self._started = time.monotonic()
        self._deadline = turn.until
        self._measured = time.process_time(), self._started
        self._receipts_at = self._started + RECEIPTS_EVERY_S
        self._take_up(turn)
        while not self._ended():
            self._step()
            if time.monotonic() >= self._receipts_at:
                self._receipts_at = time.monotonic() + RECEIPTS_EVERY_S
                self._source.close_idle()
                self._target.close_idle()
                self._drop_overdue()
                self._roster.note_waiting(time.monotonic(), LONG_LOST_S)
                self._tell_receipts()
                if self._told:
                    yield self._take_told()
        under_way = self._drain()
        self._roster.note_waiting(time.monotonic())
        self._tell_receipts()
        self._grantor.tell_done({c.place: left for c in self._roster.cursors if (left := c.left)}, under_way)
        yield self._take_told()

    def _tell_receipts(self) -> None:
        """Also before partitions are looked for: what may be noted of them then is newer."""
        if self._lane:
            self._roster.held_records += self._lane.settle(self._roster.book)
        if receipts := self._roster.book.take():
            self._grantor.tell_receipts(receipts)
            self._told += receipts

    def _take_told(self) -> list[Receipt]:
        told, self._told = self._told, []
        return told

    def _note(self, place: Place, standing: Standing) -> None:
        """On the scout's thread. What follows is begun in this way, also if it fails and is looked at again."""
        self._note_standing(place, standing)
        self._noted[place] = standing

    def _unguarded_ok(self) -> bool:
        return time.monotonic() - self._started >= self.lease.unguarded_wait_s

    def _ended(self) -> bool:
        if self._ending or self._is_over:
            return True
        return self._has_end and not self._awaited and self._roster.all_ended()

    @property
    def _is_over(self) -> bool:
        """Somebody else may write by now. It is asked before each request: this process may have stood still."""
        return time.monotonic() >= self._deadline

    # -- one turn of the loop

    def _step(self) -> None:
        now = time.monotonic()
        if now >= self._ask_at:
            self._ask_at = now + ASK_SHARE * self.lease.seconds
            self._grantor.ask(self._take_load(now))
        self._ask_scout(now)
        self._open_lane(now)
        if self._lane:
            self._ride(self._lane, now)
            return
        pause_s = self._throttle.wait_s(now)
        if not pause_s:
            for fetcher in [f for f in self._links.fetchers.values() if f.idle]:
                self._guarded(fetcher.channel, lambda f=fetcher: self._fetch_more(f, now))  # type: ignore[misc]
        for appender in list(self._links.appenders.values()):
            if appender.is_due(now):
                self._send(appender)
        longest = RETRY_EVERY_S if self._roster.lost else pause_s or RECEIPTS_EVERY_S
        pauses = [side.paused_until - now for side in self._links.sides if side.paused_until > now]
        self._poll(min(longest, RECEIPTS_EVERY_S, self._ask_at - now, max(0.0, self._deadline - now), *pauses))

    def _take_load(self, now: float) -> float | None:
        """Since the last time. None: what a lease does at first tells nothing of its traffic."""
        cpu_s, since = self._measured
        self._measured = time.process_time(), now
        if since - self._started < ASK_SHARE * self.lease.seconds:
            return None
        return 1.0 if self._has_backlog else min(1.0, (self._measured[0] - cpu_s) / max(0.001, now - since))

    @property
    def _has_backlog(self) -> bool:
        """Whether a source has more than it may send at once, or than the target has taken.

        With a ceiling, or where the target throttles us, more tasks would not help.
        """
        if self.lease.rules.bytes_per_second:
            return False
        if self._lane:
            return self._lane.has_backlog
        is_slowed = any(a.paused_until > time.monotonic() for a in self._links.appenders.values())
        fetchers = self._links.fetchers.values()
        return any(f.was_full and (not f.idle or (f.lacks_room and not is_slowed)) for f in fetchers)

    def _poll(self, timeout_s: float) -> None:
        ready_now = dict(self._links.select(0.0 if self._unread else timeout_s))
        ready_now |= dict.fromkeys(self._unread, selectors.EVENT_READ)
        self._unread = []
        for ready, events in ready_now.items():
            if isinstance(ready, Fetcher | Appender) and not self._links.has(ready):
                continue  # it was lost meanwhile
            if ready is SCOUT:
                self._take_findings()
            elif ready is GRANTOR:
                self._heed_grantor()
            else:
                self._guarded(ready.channel, lambda s=ready, e=events: self._serve(s, e))  # type: ignore[misc]

    def _heed_grantor(self) -> None:
        word = self._grantor.hear()
        if word is None:
            return
        if word.ends:
            self._ending = True
            self._links.ignore(self._grantor)
        elif not self._is_over and not self._ending:  # else it came too late
            self._deadline = max(self._deadline, word.until)
            if word.added:
                self._leave_lane()
                self._take_up(word)

    def _take_up(self, word: Word) -> None:
        """Nobody else copies these partitions any more."""
        for place in self._awaited.keys() & word.added.keys():
            cursor = self._roster.add(self._awaited.pop(place))
            cursor.hint = word.added[place] or cursor.hint
            cursor.is_as_left = place in word.as_left

    def _guarded(self, channel: Channel, work: Callable[[], None]) -> None:
        try:
            work()
        except (ConnectionLostError, ProtocolError, BrokerError) as error:
            self._lose_channel(channel, str(error))

    def _serve(self, side: Fetcher | Appender, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            if self._is_over and isinstance(side, Appender):
                raise ConnectionLostError("the lease was over before all was sent")
            side.channel.flush()
            if isinstance(side, Appender):
                side.send()
        if events & selectors.EVENT_READ:
            for pending, frame in side.channel.receive():
                if isinstance(side, Fetcher):
                    self._take_fetch(side, frame)
                else:
                    self._take_answer(side, pending.tag, frame)
        self._links.watch(side)

    # -- plain traffic

    def _ride(self, lane: Lane, now: float) -> None:
        until = min(self._receipts_at, self._ask_at, self._deadline, lane.must_end_at)
        if self._roster.lost:
            until = min(until, now + RETRY_EVERY_S)
        ended = lane.ride(until, self._deadline)
        if ended == OTHERS:
            self._poll(0.0)
        elif ended != OVER or until == lane.must_end_at:
            self._leave_lane()

    def _open_lane(self, now: float) -> None:
        """If all of the lease's traffic is plain and drained."""
        if self._lane or self._unread or now < self._lane_at or self._ending or not self._may_have_lanes:
            return
        if self._followers.rack(now) != self.lease.rules.rack:
            return
        if any(appender.channel.pending for appender in self._links.appenders.values()):
            return
        self._lane_at = now + LANE_EVERY_S
        fetchers = {f: self._roster.fetchable(f.node, now) for f in self._links.fetchers.values()}
        nodes = {cursor.target_node for cursors in fetchers.values() for cursor in cursors}
        copying = sum(cursor.state is State.COPYING for cursor in self._roster.cursors)
        if not nodes <= self._links.appenders.keys() or sum(map(len, fetchers.values())) < copying:
            return
        self._lane = open_lane(
            fetchers,
            {node: self._links.appenders[node] for node in sorted(nodes)},
            self._links.fileno(),
            self.lease.rules,
        )
        if self._lane:
            self._opened_at = now
            self._links.lend(self._lane.sides)

    def _leave_lane(self) -> None:
        """Cursors know again where they stand, and fetchers and appenders what is under way."""
        lane, self._lane = self._lane, None
        if lane is None:
            return
        now = time.monotonic()
        is_short = now - self._opened_at < SHORT_LANE_S
        self._lane_pause_s = min(2 * self._lane_pause_s, SHORT_LANE_S) if is_short else LANE_EVERY_S
        self._lane_at = now + self._lane_pause_s
        self._roster.held_records += lane.leave(self._roster.book)
        self._links.take_back(lane.sides)
        self._unread += lane.sides

    # -- the two sides

    def _fetch_more(self, fetcher: Fetcher, now: float) -> None:
        if self._ending or now < fetcher.paused_until:
            return
        # Each broker may have one answer here and one under way, also while all the others only wait.
        fetchers = self._links.fetchers.values()
        share = max(1, min(self._fetch_bytes, self._held_bytes // (2 * len(fetchers))))
        reserved = sum(f.reserved_bytes for f in fetchers)
        room = min(share, self._held_bytes - self._roster.held.bytes - reserved)
        ahead = self._roster.readahead_bytes() - reserved
        fetcher.lacks_room = room < share // 4 or ahead <= 0
        if fetcher.lacks_room:
            self._make_room(now)
            return
        cursors = self._roster.fetchable(fetcher.node, now)
        if not cursors:
            return
        left_ms = int((self._deadline - now) * 1000)
        fetcher.ask(cursors, min(room, ahead, self._throttle.most_bytes), max(0, left_ms), self._followers.rack(now))
        self._links.watch(fetcher)

    def _make_room(self, now: float) -> None:
        """Whoever asks again at the next turn of the loop finds it."""
        if now >= self._make_room_at:
            self._make_room_at = now + MAKE_ROOM_EVERY_S
            make_room(self._roster, self._links.appenders, now)

    def _take_fetch(self, fetcher: Fetcher, frame: memoryview) -> None:
        news = fetcher.take(frame)
        self._throttle.take(len(frame))
        if self._ending:
            return
        now = time.monotonic()
        for cursor, fetched in news:
            if self._moves(cursor, fetched, now):
                continue
            self._roster.take_fetched(cursor, fetched, now)
            if cursor.queue and cursor.target_node in self._links.appenders:
                self._links.appenders[cursor.target_node].offer(cursor)
        if not self._throttle.wait_s(now):
            self._fetch_more(fetcher, now)
        for node in {c.target_node for c, _ in news}:
            if node in self._links.appenders:
                self._send(self._links.appenders[node])

    def _moves(self, cursor: Cursor, fetched: fetch.FetchedPartition, now: float) -> bool:
        """Whether the cursor reads from another broker now: from a nearer replica, or from the leader again."""
        node = self._followers.next_node(cursor, fetched, now)
        if node == cursor.read_node:
            return False
        cursor.read_node = node
        if node not in self._links.fetchers and node not in self._connecting:
            self._connecting.add(node)
            self._scout.connect(node)
        return True

    def _take_answer(self, appender: Appender, tag: object, frame: memoryview) -> None:
        now = time.monotonic()
        for event in appender.take(tag, frame):
            self._roster.take_event(appender, event, now)
        if not self._is_over:
            appender.send()

    def _send(self, appender: Appender) -> None:
        if self._is_over:
            return
        self._guarded(appender.channel, appender.send)
        if self._links.appenders.get(appender.node) is appender:
            self._links.watch(appender)

    # -- losing and finding

    def _lose_channel(self, channel: Channel, reason: str) -> None:
        self._leave_lane()
        side = self._links.drop(channel)
        if side is None:
            return
        is_source = isinstance(side, Fetcher)
        if is_source:
            self._followers.avoid(time.monotonic())
        self._roster.lose_node(side.node, source=is_source, reason=reason, now=time.monotonic())

    def _drop_overdue(self) -> None:
        now = time.monotonic()
        if self._lane and self._lane.is_late(now, self.lease.rules.bounds.flush_timeout_s):
            self._leave_lane()
        for appender in self._links.appenders.values():
            self._roster.note_late(appender, now)
        for side in self._links.sides:
            if side.channel.overdue(now):
                self._lose_channel(side.channel, f"{side.channel} did not answer in time")

    def _ask_scout(self, now: float) -> None:
        due = [c for c in self._roster.lost if c not in self._asked and c.retry_at <= now]
        if due and not self._ending:
            self._tell_receipts()
            self._asked.update(due)
            self._scout.ask(due, self._links.nodes)

    def _raise_limits(self, cursor: Cursor, wanted: LimitRaise) -> None:
        self._tell_receipts()
        self._asked.add(cursor)
        self._scout.raise_limits(cursor, wanted, self._links.nodes)

    def _take_findings(self) -> None:
        for found in self._scout.take():
            self._leave_lane()
            if isinstance(found, Connections):
                self._adopt(found)
                continue
            if isinstance(found, Unreachable):
                self._take_unreachable(found)
                continue
            for news in found:
                if isinstance(news, Finding):
                    self._take_finding(news)
                else:
                    self._take_slow_fill(news)

    def _take_unreachable(self, news: Unreachable) -> None:
        """Whoever was to read there is looked up anew, and reads from the leader."""
        self._connecting.discard(news.node)
        self._followers.avoid(time.monotonic())
        self._roster.lose_node(news.node, source=True, reason=news.reason, now=time.monotonic())

    def _take_slow_fill(self, filled: Filled) -> None:
        appender = self._links.appenders.get(filled.cursor.target_node)
        if appender is not None and filled.term == filled.cursor.term:
            self._roster.take_event(appender, filled, time.monotonic())
            self._send(appender)

    def _adopt(self, connections: Connections) -> None:
        self._connecting -= connections.source.keys()
        self._links.adopt(connections)

    def _take_finding(self, finding: Finding) -> None:
        cursor, now = finding.cursor, time.monotonic()
        self._asked.discard(cursor)
        cursor.hint = self._noted.pop(cursor.place, cursor.hint)
        if cursor.state is not State.LOST:
            return
        if isinstance(finding.result, str):
            self._roster.lose(cursor, finding.result, now)
            return
        if isinstance(finding.result, MirrorError):
            self._roster.stop(cursor, finding.result)
            return
        assert isinstance(finding.result, Position) and finding.place is not None
        place = finding.place
        if finding.result.is_search:
            self._roster.search_on(cursor, place, finding.result, now)
            return
        source, target = place.source.leaders[place.partition], place.target_leader
        fetcher, appender = self._links.fetchers.get(source.node), self._links.appenders.get(target.node)
        if fetcher is None or appender is None:
            self._roster.lose(cursor, "a connection was lost meanwhile", now)
            return
        cursor.source_node, cursor.target_node, cursor.leader_epoch = source.node, target.node, source.epoch
        cursor.read_node = source.node
        by_id = fetcher.version == fetch.BY_ID
        cursor.source_key = place.source.topic_id if by_id else place.source.name
        by_id = appender.version == produce.BY_ID
        cursor.target_key = place.target.topic_id if by_id else place.target.name
        self._roster.settle(cursor, place, finding.result, now)
        if cursor.queue:
            appender.offer(cursor)
            self._send(appender)

    # -- the end

    def _drain(self) -> list[Place]:
        """Send nothing new; wait a little for the answers of what is under way. Where something still is then."""
        self._ending = True
        self._leave_lane()
        until = time.monotonic() + DRAIN_S
        for cursor in self._roster.cursors:
            cursor.queue.hold()
        while any(a.channel.pending for a in self._links.appenders.values()) and time.monotonic() < until:
            self._poll(0.05)
        if self._scout.writing.acquire(timeout=WRITING_S):
            self._scout.writing.release()
        late = [appender for appender in self._links.appenders.values() if appender.channel.pending]
        under_way = {cursor.place for appender in late for cursor in appender.unanswered}
        for appender in late:  # what was not sent yet must not be
            self._lose_channel(appender.channel, f"{appender.channel} did not answer before the lease ended")
        return sorted(under_way)

    def close(self) -> None:
        """Close sessions and connections; a fetch that is still under way is waited for as long as it may take."""
        self._ending = True
        until = time.monotonic() + 1.2 * LONGEST_WAIT_MS / 1000
        while any(f.channel.pending for f in self._links.fetchers.values()):
            if time.monotonic() >= until:
                break
            self._poll(0.1)
        self._links.close()
        self._scout.close()
        self._source.end()
        self._target.end()
