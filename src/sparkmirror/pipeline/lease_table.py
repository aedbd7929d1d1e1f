"""Who may write which partition until when. Pure: the time is passed in, and what must be said is returned.

    PLANNED --asks--> THERE --a partition is free: granted--> GOING --done, died, or its time is over--> DONE
                        |                                       ^ |
                        '-- silent, or void -----> DONE         '-' asks again: renewed; more partitions become free

A task that died, or is done and has had no answer to what it sent, is GOING until that can hardly be written any more.

Each partition is held by one lease at most. A lease begins with those of its partitions that nobody holds and takes up
the others as they become free, so nobody waits for a silent task but the partitions that it holds. A lease of an
earlier round ends when all that copy its flow next are there; one that is not renewed, since its task does not ask, is
over when its time is. The task knows that time, too, and counts it from when it asked: earlier than this table does.

Where a partition stands (`hints`) is said by the lease that holds it, by receipts, notes and its last word, and by
nobody else. So it is the newest that is known, and stays so when a lease is lost: what that one did since is in the
clusters, to be found from there. After a lease's last word, until another one gets the partition, it is all of it. What
was said under an earlier lead of this driver is void: somebody else may have copied on in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from sparkmirror.copy.lease import ASK_SHARE, Lease
from sparkmirror.topology.standing import Standing

# Shares of the time that a lease may last at most.
WAITING_SHARE = ASK_SHARE / 2  # so often a task that waits for its turn asks
FRESH_SHARE = 1.5 * ASK_SHARE  # nothing is granted to a task that has not asked for so long,
SILENT_SHARE = 4 * ASK_SHARE  # and one that has not for so long counts as silent: others are sent for its partitions
MARGIN_S = 0.25  # from the end of a lease until somebody else may write: a request may be on its way
NOTE_S = 10.0  # so long others wait for what is being written of a partition

Key = tuple[str, str, int]  # flow, topic, partition
Hints = Mapping[Key, Standing | None]


class Phase(Enum):
    PLANNED = "planned"
    THERE = "there"
    GOING = "going"
    DONE = "done"


@dataclass(slots=True, eq=False)
class LeaseState:
    """`asked_at`, `until`: by the desk's clock. `stamp`: when the task last asked, by its own."""

    lease: Lease
    number: int
    wanted: set[Key]
    phase: Phase = Phase.PLANNED
    held: set[Key] = field(default_factory=set)
    asked_at: float = 0.0
    stamp: float = 0.0
    until: float = 0.0
    must_end: bool = False
    is_told: bool = False  # that it must end
    has_left: bool = False  # what it sent may still be written
    lost: bool = False
    lead: int = -1  # under which it began
    heard: int = 0  # times that it has told receipts
    load: float | None = None  # of its task, as it told last
    notes: dict[Key, tuple[Standing, float]] = field(default_factory=dict)  # being written; waited for until then

    @property
    def is_out(self) -> bool:
        return self.phase in (Phase.THERE, Phase.GOING) and not self.has_left

    @property
    def is_held(self) -> bool:
        """Something may still be written for it."""
        return self.phase is not Phase.DONE or bool(self.notes)

    def may_get(self, now: float) -> bool:
        """Whether its task was heard of just now, and its time is not over."""
        is_over = self.phase is Phase.GOING and now >= self.until
        is_fresh = now - self.asked_at < FRESH_SHARE * self.lease.seconds
        return self.is_out and not self.must_end and is_fresh and not is_over

    def is_silent(self, now: float) -> bool:
        return self.is_out and now - self.asked_at >= SILENT_SHARE * self.lease.seconds

    def end(self, *, lost: bool = False) -> None:
        self.phase, self.lost = Phase.DONE, lost
        self.held, self.wanted = set(), set()


@dataclass(frozen=True, slots=True)
class Given:
    """To be told: what it may write beside what it holds, and for how long from its stamp on.

    `as_left`: of these a lease's last word told all.
    """

    state: LeaseState
    added: Hints
    seconds: float
    as_left: frozenset[Key] = frozenset()


@dataclass(frozen=True, slots=True)
class Ended:
    """To be told: it must end."""

    state: LeaseState


@dataclass(slots=True)
class Round:
    number: int
    states: dict[str, LeaseState] = field(default_factory=dict)
    over_at: float | None = None  # since when all its leases have ended

    @property
    def places(self) -> set[Key]:
        """All that is copied in it."""
        return {place for state in self.states.values() for place in state.lease.places}

    def size_of(self, flow: str) -> tuple[int, int]:
        """How many leases the flow has in it, and of how many partitions."""
        leases = [state.lease for state in self.states.values() if state.lease.flow == flow]
        return len(leases), sum(len(lease.partitions) for lease in leases)

    def ended(self) -> bool:
        return all(s.phase is Phase.DONE for s in self.states.values())

    def frays(self) -> bool:
        """Whether a lease has ended, if only one: nobody copies its partitions until the next round."""
        return any(s.phase is Phase.DONE for s in self.states.values())

    def going(self) -> bool:
        return all(s.phase in (Phase.GOING, Phase.DONE) for s in self.states.values())

    def count_planned(self) -> int:
        """Leases that no task has come for yet."""
        return sum(s.phase is Phase.PLANNED for s in self.states.values())

    def needs_help(self, now: float) -> bool:
        """A task was lost or is silent: others should be sent for its partitions."""
        return any(s.lost or s.is_silent(now) for s in self.states.values())


class LeaseTable:
    """`term_of`: how long a lease of a flow may last from now on, 0: not at all. `is_current`: asked after that; a
    lease that is not gets no more time. `lead_of`: another number each time that this driver begins to lead a flow.
    """

    def __init__(
        self,
        term_of: Callable[[str], float],
        is_current: Callable[[Lease], bool] = lambda _: True,
        lead_of: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self.term_of = term_of
        self.is_current = is_current
        self.lead_of = lead_of
        self.hints: dict[Key, Standing] = {}
        self._leads: dict[str, int] = {}  # by flow, under which the hints were said
        self.newest = -1
        self._rounds: dict[int, Round] = {}
        self._given_to: dict[Key, LeaseState] = {}  # by partition, the last one
        self._as_left: set[Key] = set()

    def states(self) -> Iterator[LeaseState]:
        for number in sorted(self._rounds):
            yield from self._rounds[number].states.values()

    def round(self, number: int) -> Round | None:
        return self._rounds.get(number)

    def find(self, lease_id: str) -> LeaseState | None:
        return next((r.states[lease_id] for r in self._rounds.values() if lease_id in r.states), None)

    # -- what the driver wants

    def publish(self, leases: Iterable[Lease], *, at_once: bool = False) -> Round:
        """A new round. Leases of earlier rounds that have not begun are void; flows that are not in it end."""
        self.newest += 1
        states = {lease.lease_id: LeaseState(lease, self.newest, set(lease.places)) for lease in leases}
        flows = {state.lease.flow for state in states.values()}
        for state in self.states():
            if state.phase is not Phase.GOING:
                self._void(state)
            elif at_once or state.lease.flow not in flows:
                state.must_end = True
        fresh = self._rounds[self.newest] = Round(self.newest, states)
        return fresh

    def loads(self, flow: str) -> list[float | None]:
        """Of the tasks of the newest round; None: it has not told it yet."""
        newest = self._rounds.get(self.newest)
        states = newest.states.values() if newest else ()
        return [s.load for s in states if s.lease.flow == flow]

    def recall(self, *, before: int | None = None) -> None:
        """Leases end, those that have not begun are void: all of them, or those before a round."""
        for state in self.states():
            if before is None or state.number < before:
                self._void(state)
                state.must_end |= state.phase is Phase.GOING

    def _void(self, state: LeaseState) -> None:
        if state.phase in (Phase.PLANNED, Phase.THERE):
            state.must_end = state.phase is Phase.THERE
            state.end()

    # -- what tasks say

    def ask(self, lease_id: str, stamp: float, now: float) -> LeaseState | None:
        """A task comes for its lease; None if it is void, or somebody else's."""
        state = self.find(lease_id)
        if state is None or state.phase is not Phase.PLANNED:
            return None
        state.phase, state.stamp, state.asked_at = Phase.THERE, stamp, now
        return state

    def ask_again(self, state: LeaseState, stamp: float, now: float, load: float | None = None) -> Given | None:
        """It waits on, or gets more time: none if it is over, also if nobody has followed yet, or is to end."""
        is_over = state.phase is Phase.GOING and now >= state.until
        if not state.is_out or is_over:
            return None
        state.stamp, state.asked_at = stamp, now
        state.load = load
        seconds = self._term(state.lease)
        is_renewed = state.phase is Phase.GOING and not state.must_end and seconds > 0
        return self._give(state, (), seconds, now) if is_renewed else None

    def leave(
        self, state: LeaseState, done: Mapping[Key, Standing] | None, now: float, under_way: Collection[Key] = ()
    ) -> None:
        """It is done, or (None) has died.

        What it has sent may still be written: for a moment after its death, else where it says so until its time is
        over.
        """
        self.take_told(state, done or {})
        if state.phase is Phase.GOING and not state.has_left:
            state.has_left = state.must_end = state.is_told = True
            if done is None:
                state.until, state.lost = min(state.until, now), True
                return
            if state.lead == self._heed_lead(state.lease.flow):
                self._as_left |= (done.keys() & state.held) - set(under_way)
            state.held.intersection_update(under_way)
            state.wanted = set()
            if not state.held:
                state.end()
        elif state.phase is Phase.THERE:
            state.end(lost=True)

    def take_told(self, state: LeaseState, standings: Mapping[Key, Standing]) -> None:
        """Where partitions stand. Who is late tells nothing: others may have written since."""
        if state.lead == self._heed_lead(state.lease.flow):
            self.hints |= {key: standing for key, standing in standings.items() if key in state.held}

    def forget(self, flow: str) -> None:
        """Where its leases stood: somebody else copies it."""
        self.hints = {key: hint for key, hint in self.hints.items() if key[0] != flow}
        self._as_left = {key for key in self._as_left if key[0] != flow}

    def _heed_lead(self, flow: str) -> int:
        lead = self.lead_of(flow)
        if self._leads.get(flow, lead) != lead:
            self.forget(flow)
        self._leads[flow] = lead
        return lead

    def cut_off(self, state: LeaseState) -> None:
        """Nothing is heard of it any more: it may write on until its time is over."""
        if state.phase is Phase.THERE:
            state.end(lost=True)
        state.must_end = state.is_told = True

    def begin_note(self, state: LeaseState, key: Key, standing: Standing, now: float) -> bool:
        """Whether it may have written where a partition stands."""
        if state.phase is not Phase.GOING or state.has_left or key not in state.held or now >= state.until:
            return False
        if state.lead != self._heed_lead(state.lease.flow):
            return False
        state.notes[key] = (standing, now + NOTE_S)
        return True

    def end_note(self, state: LeaseState, key: Key, *, written: bool) -> None:
        """What a successor goes on from, also if it outlasted its lease, unless one has begun meanwhile."""
        standing, _ = state.notes.pop(key)
        if written and self._given_to.get(key) is state and state.lead == self._heed_lead(state.lease.flow):
            self.hints[key] = standing
            self._as_left.discard(key)

    # -- what follows

    def advance(self, now: float) -> list[Given | Ended]:
        """All that has become due."""
        for state in self.states():
            self._expire(state, now)
        self._relieve()
        said = list(self._say(now))
        for each in list(self._rounds.values()):
            if each.ended():
                each.over_at = now if each.over_at is None else each.over_at
                if each.number < self.newest and not any(s.notes for s in each.states.values()):
                    del self._rounds[each.number]
        return said

    def next_due(self, now: float) -> float | None:
        """When something becomes due by itself."""
        due = []
        for state in self.states():
            if state.phase is Phase.GOING:
                due.append(state.until + MARGIN_S)
            if state.is_out:
                due.append(state.asked_at + SILENT_SHARE * state.lease.seconds)
            due += [until for _, until in state.notes.values()]
        return min((at for at in due if at > now), default=None)

    def _expire(self, state: LeaseState, now: float) -> None:
        is_over = state.phase is Phase.GOING and now >= state.until + MARGIN_S
        if is_over or (state.phase is Phase.THERE and state.is_silent(now)):
            state.end(lost=True)
            state.must_end = True

    def _relieve(self) -> None:
        """When all that copy a flow next are there, those that copy it now may end."""
        newest = self._rounds.get(self.newest)
        if newest is None:
            return
        awaited = {s.lease.flow for s in newest.states.values() if s.phase is Phase.PLANNED}
        coming = {s.lease.flow for s in newest.states.values()} - awaited
        for state in self.states():
            if state.number < self.newest and state.phase is Phase.GOING and state.lease.flow in coming:
                state.must_end = True

    def _say(self, now: float) -> Iterator[Given | Ended]:
        noted = self._noted(now)
        for state in self.states():
            if state.must_end and not state.is_told:
                state.is_told = True
                yield Ended(state)
            elif state.may_get(now):
                yield from self._grant(state, noted, now)

    def _grant(self, state: LeaseState, noted: set[Key], now: float) -> Iterator[Given | Ended]:
        free = [key for key in state.wanted if key not in noted and not self._is_held(key)]
        if not free and (state.wanted or state.phase is Phase.GOING):
            return
        seconds = self._term(state.lease)
        if seconds:
            yield self._give(state, free, seconds, now)
        elif state.phase is Phase.THERE:
            state.end()
            state.must_end = state.is_told = True
            yield Ended(state)

    def _term(self, lease: Lease) -> float:
        seconds = self.term_of(lease.flow)
        return seconds if self.is_current(lease) else 0.0

    def _give(self, state: LeaseState, keys: Iterable[Key], seconds: float, now: float) -> Given:
        lead = self._heed_lead(state.lease.flow)
        if state.phase is not Phase.GOING:
            state.phase, state.lead = Phase.GOING, lead
        state.until = max(state.until, now + seconds)
        state.held.update(keys)
        state.wanted.difference_update(keys)
        self._given_to.update(dict.fromkeys(keys, state))
        as_left = self._as_left.intersection(keys)
        self._as_left -= as_left
        return Given(state, {key: self.hints.get(key) for key in keys}, seconds, frozenset(as_left))

    def _is_held(self, key: Key) -> bool:
        last = self._given_to.get(key)
        return last is not None and key in last.held

    def _noted(self, now: float) -> set[Key]:
        """Partitions of which it is being written where they stand."""
        return {key for s in self.states() for key, (_, until) in s.notes.items() if now < until}
