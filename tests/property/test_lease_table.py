"""The lease table under tasks that ask, stand still, die, wake up and are cut off at any moment.

Whatever happens: no two tasks may write one partition at the same time, each judging by its own clock and by what it
was told, however late it hears it; and no partition waits for a lease whose time is over. And whoever is given a
partition is told of the newest that was noted of it: what a task noted it may have acted upon.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.copy.lease import ASK_SHARE, Lease, LeasePartition
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline.lease_table import MARGIN_S, NOTE_S, Ended, Given, Key, LeaseState, LeaseTable, Phase
from sparkmirror.topology.standing import Standing

LEASE_S = 3.0
TERM_S = 2 * LEASE_S
STEP_S = 0.1
PARTITIONS = 6
HERE = ClusterAddress(alias="A", bootstrap=("127.0.0.1:1",))


def lease(lease_id: str, partitions: list[int]) -> Lease:
    return Lease(
        lease_id=lease_id,
        flow="A->B",
        source=HERE,
        target=HERE,
        producer_id=1,
        fence=1,
        seconds=TERM_S,
        partitions=tuple(LeasePartition(topic="t", partition=p, remote="A.t") for p in partitions),
    )


@dataclass
class Task:
    """As `Cord` and `Copy` behave: it writes what it was granted until its deadline, which counts from its asks."""

    lease_id: str
    state: LeaseState | None = None
    asked_at: float = -1.0
    until: float = 0.0
    places: set[Key] = field(default_factory=set)
    inbox: list[tuple[str, frozenset[Key], float]] = field(default_factory=list)
    asks: list[float] = field(default_factory=list)  # on their way to the desk
    planned: dict[Key, Standing] = field(default_factory=dict)
    known: dict[Key, Standing] = field(default_factory=dict)
    noting: dict[Key, tuple[Standing, float]] = field(default_factory=dict)  # until when it is being written
    is_frozen: bool = False
    is_dead: bool = False
    has_ended: bool = False
    died_at: float = 0.0
    under_way: frozenset[Key] = frozenset()  # when it had ended

    def writes(self, now: float) -> set[Key]:
        """Whoever stands still writes nothing; what it would write on waking up is decided by its deadline.

        What it has sent may come later: for a moment after its death, and until its deadline where it says so.
        """
        if now >= self.until:
            return set()
        if self.has_ended:
            return set(self.under_way)
        return self.places if not self.is_dead or now < self.died_at + MARGIN_S - STEP_S / 2 else set()


class World:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.now = 100.0
        self.lead = 0
        self.table = LeaseTable(lambda _: TERM_S if dice.random() < 0.95 else 0.0, lead_of=lambda _: self.lead)
        self.tasks: list[Task] = []
        self.noted: dict[Key, Standing] = {}  # written, the newest
        self.untold: dict[Key, str] = {}  # who has written and not told all of it by its last word
        self._notes = 0

    def publish(self) -> None:
        number = self.table.newest + 1
        shuffled = self.dice.sample(range(PARTITIONS), PARTITIONS)
        count = self.dice.randint(1, 4)
        leases = [lease(f"{number}.{i}", sorted(shuffled[i::count])) for i in range(count)]
        self.table.publish(leases, at_once=self.dice.random() < 0.2)
        self.tasks += [Task(each.lease_id, planned=dict(self.table.hints)) for each in leases]
        self.say()

    def say(self) -> None:
        for said in self.table.advance(self.now):
            self._tell(said)

    def _tell(self, said: Given | Ended | None) -> None:
        task = next((t for t in self.tasks if said and t.state is said.state), None)
        if task is None or said is None:
            return
        if isinstance(said, Given):
            for key, hint in said.added.items():
                task.known[key] = hint or task.planned.get(key, Standing(0))
                assert task.known[key] >= self.noted.get(key, Standing(0)), f"{task.lease_id} goes back on a note"
            for key in said.as_left:
                assert key not in self.untold, f"{self.untold[key]} has written since"
            task.inbox.append(("given", frozenset(said.added), said.state.stamp + said.seconds))
        else:
            task.inbox.append(("ended", frozenset(), 0.0))

    def step(self) -> None:
        self.now += STEP_S
        for task in self.tasks:
            self._trouble(task)
            self._write_notes(task)
            if task.asks and self.dice.random() < 0.8:  # else they are still under way, or the desk is slow
                stamp = task.asks.pop(0)
                self._take_ask(task, stamp)
            if not task.is_frozen and not task.is_dead and not task.has_ended:
                self._live(task)
        if self.dice.random() < 0.002:
            self._lose_lead()
        if self.dice.random() < 0.9:
            self.say()

    def _lose_lead(self) -> None:
        """Somebody else has copied all of it, and this driver leads again before anybody has noticed."""
        self.lead += 1
        self.noted.clear()
        self.untold = {("A->B", "t", partition): "another driver" for partition in range(PARTITIONS)}

    def _take_ask(self, task: Task, stamp: float) -> None:
        if task.state is None:
            task.state = self.table.ask(task.lease_id, stamp, self.now)
            if task.state is None:
                task.has_ended = True
        else:
            self._tell(self.table.ask_again(task.state, stamp, self.now))

    def _write_notes(self, task: Task) -> None:
        """The driver does it, whatever becomes of the task."""
        for key, (standing, until) in list(task.noting.items()):
            if task.state is None or self.now < until:
                continue
            is_written = self.dice.random() < 0.8
            del task.noting[key]
            self.table.end_note(task.state, key, written=is_written)
            if is_written and task.state.lead == self.lead:
                task.known[key] = self.noted[key] = standing

    def _say_where(self, task: Task) -> None:
        """It looks for a partition anew and has something noted, or tells how far it is, however late."""
        assert task.state is not None
        if self.dice.random() < 0.2:
            self.table.take_told(task.state, self._left(task))
        for key in task.writes(self.now):
            self._notes += 1
            noted = Standing(self._notes)
            begins = self.dice.random() < 0.02 and key not in task.noting
            if begins and self.table.begin_note(task.state, key, noted, self.now):
                task.noting[key] = (noted, self.now + self.dice.uniform(0, NOTE_S / 2))

    def _left(self, task: Task) -> dict[Key, Standing]:
        return {key: task.known[key] for key in task.places if key not in task.noting}

    def _trouble(self, task: Task) -> None:
        chance = self.dice.random()
        if chance < 0.005:
            task.is_frozen = True
        elif task.is_frozen and chance < 0.02:
            task.is_frozen = False
        elif chance < 0.008 and not task.is_dead:
            task.is_dead, task.died_at = True, self.now
            if task.state is not None:
                self.table.leave(task.state, None, self.now)
        elif chance < 0.010 and task.state is not None:
            self.table.cut_off(task.state)

    def _live(self, task: Task) -> None:
        heard = self.dice.randint(0, len(task.inbox))  # the rest is still under way
        for kind, added, until in task.inbox[:heard]:
            is_over = bool(task.until) and self.now >= task.until
            if kind == "ended":
                task.has_ended = True
                if task.state is not None and task.places and not is_over:
                    task.under_way = frozenset(key for key in task.places if self.dice.random() < 0.1)
                if task.state is not None:
                    left = self._left(task)
                    told = left.keys() & task.state.held - task.under_way if task.state.lead == self.lead else ()
                    self.table.leave(task.state, left, self.now, under_way=task.under_way)
                    self.untold = {key: by for key, by in self.untold.items() if key not in told}
            elif not is_over and not task.has_ended:
                task.until = max(task.until, until)
                task.places |= added
        del task.inbox[:heard]
        if task.state is not None:
            self._say_where(task)
        if self.now - task.asked_at >= ASK_SHARE * TERM_S / 2:
            task.asked_at = self.now
            task.asks.append(self.now)

    def check(self) -> None:
        writers: dict[Key, Task] = {}
        for task in self.tasks:
            for key in task.writes(self.now):
                assert key not in writers, f"{task.lease_id} and {writers[key].lease_id} both write {key}"
                writers[key] = task
                self.untold[key] = task.lease_id
        for state in self.table.states():
            assert state.phase is not Phase.GOING or self.now < state.until + MARGIN_S + 5 * STEP_S, "it was not ended"


@pytest.mark.parametrize("seed", range(40))
def test_no_two_tasks_ever_write_one_partition_and_none_goes_back_on_what_was_noted(seed: int) -> None:
    world = World(random.Random(seed))
    for turn in range(600):
        if turn % world.dice.randint(20, 60) == 0:
            world.publish()
        world.step()
        world.check()


@given(seed=st.integers(0, 10**9))
@settings(max_examples=30)
def test_a_partition_goes_on_soon_after_its_silent_holder_is_over(seed: int) -> None:
    """A lease that nobody holds up gets its partitions, and one that waits for a silent one gets them in time."""
    dice = random.Random(seed)
    table = LeaseTable(lambda _: TERM_S)
    table.publish([lease("0.0", [0]), lease("0.1", [1, 2])])
    now = 100.0
    old = [table.ask(f"0.{i}", now, now) for i in range(2)]
    assert {len(s.added) for s in table.advance(now) if isinstance(s, Given)} == {1, 2}
    frozen_at = now + dice.uniform(0, LEASE_S)
    table.publish([lease("1.0", [0, 1]), lease("1.1", [2])])
    new = [table.ask(f"1.{i}", now, now) for i in range(2)]
    got: dict[Key, float] = {}
    while now < 100.0 + 4 * TERM_S and len(got) < 3:
        now += STEP_S
        for state in (*old, *new):
            assert state is not None
            if state is not old[1] or now < frozen_at:  # the second one stands still, and does not hear that it ends
                table.ask_again(state, now, now)
        for said in table.advance(now):
            if isinstance(said, Ended) and said.state is old[0]:
                table.leave(said.state, {}, now)
            elif isinstance(said, Given) and said.state in new:
                got |= dict.fromkeys(said.added, now)
    assert set(got) == {("A->B", "t", p) for p in range(3)}
    assert got["A->B", "t", 0] - 100.0 < 1.0, "nobody waits for the silent one but its own partitions"
    assert max(got.values()) <= 100.0 + TERM_S + MARGIN_S + 2 * STEP_S


def test_a_note_under_way_keeps_its_partition_alone_and_not_for_ever() -> None:
    table = LeaseTable(lambda _: TERM_S)
    table.publish([lease("0.0", [0, 1])])
    now = 100.0
    first = table.ask("0.0", now, now)
    assert first is not None
    table.advance(now)
    noted = ("A->B", "t", 0)
    assert table.begin_note(first, noted, Standing(5), now)
    table.leave(first, {}, now)
    assert not table.begin_note(first, noted, Standing(5), now), "it is over"
    table.publish([lease("1.0", [0, 1])])
    second = table.ask("1.0", now, now)
    assert second is not None
    (given,) = table.advance(now)
    assert isinstance(given, Given) and set(given.added) == {("A->B", "t", 1)}
    while noted not in second.held:
        now += STEP_S
        table.ask_again(second, now, now)
        table.advance(now)
        assert now < 100.0 + 2 * NOTE_S
    assert now >= 100.0 + NOTE_S


def test_a_lease_that_is_not_current_any_more_gets_no_time() -> None:
    current = {"0.0"}
    table = LeaseTable(lambda _: TERM_S, lambda lease: lease.lease_id in current)
    table.publish([lease("0.0", [0])])
    state = table.ask("0.0", 100.0, 100.0)
    assert state is not None
    assert [type(said) for said in table.advance(100.0)] == [Given]
    current.clear()
    assert table.ask_again(state, 101.0, 101.0) is None
    assert state.until == 100.0 + TERM_S
    table.publish([lease("1.0", [0])])
    assert table.ask("1.0", 102.0, 102.0) is not None
    table.leave(state, {}, 102.0)
    assert [type(said) for said in table.advance(102.0)] == [Ended], "neither is current"
