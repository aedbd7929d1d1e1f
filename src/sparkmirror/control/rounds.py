"""Rounds of leases: when the next is due, how many tasks it has, and what helps if Spark does not start them.

    round 4   |== go ==============================|                       one query
    round 5               published |... waits ....|== go ===========…      the other
                                     <- LEAD_S ->

A round is published some seconds before the last one's time is over, so that Spark starts its tasks. When these are
there, the desk lets the last ones end, and when they are done the new ones go. New partitions, a lost task or one that
is not heard of bring the next round forward; a lost lead ends the leases at once. A round lasts for many leases'
time, in which these are renewed: each handover costs Spark as much as a task takes for a gigabyte. It lasts for fewer
where tasks are pressed, since partitions are then worth sharing out anew, and for one lease's time if something waits
for the next: partitions that stand still, or are not weighed yet.

Where slots are short, the tasks of a round end before the next ones start. So they do when no query comes for a round:
each waits for a task of its last one. Tasks that do not come although there are slots are given up for others.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence

from sparkmirror.control.demand import Demand, is_pressed, share_slots
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.copy.lease import Lease
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.lease_table import Round

log = logging.getLogger("sparkmirror.mirror")

LEAD_S = 2.0
FIRST_START_S = 60.0  # Spark's executors and Python's workers have to be started, too
START_S = 15.0
TAKE_S = 3.0
SHORTEST_ROUND_S = 1.0
PRESSED_LEASES = 6  # so many leases' time a round lasts whose tasks are pressed
ROUND_LEASES = 30  # and any other


class Rounds:
    """`local_slots`: in local mode the tasks that there are slots for, with others for their successors; else 0.

    `count_slots`: of a cluster, now. `tend`: called again and again meanwhile. `news`: set when the next round is due.
    """

    def __init__(
        self,
        keepers: Sequence[FlowKeeper],
        ledger: Ledger,
        desk: Desk,
        *,
        local_slots: int,
        count_slots: Callable[[], int],
        has_groups: bool,
        has_goal: bool,
        tend: Callable[[], None],
        news: threading.Event,
    ) -> None:
        self._keepers = keepers
        self._ledger = ledger
        self._desk = desk
        self._local_slots = local_slots
        self._count_slots = count_slots
        self._has_groups = has_groups
        self._has_goal = has_goal
        self._tend = tend
        self._news = news
        self._slots = 0
        self._demands = {keeper.flow.name: Demand() for keeper in keepers}
        self._planned: dict[str, int] = {}  # leases that a flow may have had, when the round was planned
        self._said_leases: dict[str, int] = {}
        self._round: Round | None = None
        self._has_begun = False
        self._last_news = self._began_at = time.monotonic()

    @property
    def lease_s(self) -> float:
        return min(keeper.flow.lease_s for keeper in self._keepers)

    @property
    def is_calm(self) -> bool:
        """Nothing has happened for a while."""
        return time.monotonic() - self._last_news > self.lease_s

    def note_news(self) -> None:
        """Something was copied."""
        self._last_news = time.monotonic()

    def tasks_of(self, keeper: FlowKeeper) -> int:
        """At most the slots that are there, shared by the flows: a lease without a slot starves its partitions.

        One is left to consumer groups.
        """
        slots = self._local_slots or self._slots - self._has_groups
        shares = share_slots([each.flow.tasks_max or slots for each in self._keepers], slots)
        return shares[self._keepers.index(keeper)]

    def leases_of(self, keeper: FlowKeeper) -> int:
        """As many of these as its traffic asks for; all, of a run that has an end."""
        most = self.tasks_of(keeper)
        wanted = max(keeper.flow.tasks_min, self._demands[keeper.flow.name].leases)
        return most if self._has_goal else min(most, wanted)

    def _look_at_demand(self) -> None:
        for keeper in self._keepers:
            loads = self._desk.loads(keeper.flow.name)
            self._demands[keeper.flow.name].note(loads, self.tasks_of(keeper), time.monotonic())

    def look_at_slots(self) -> None:
        if not self._local_slots:
            self._slots = self._count_slots()

    # -- one round

    def run(self, leases: Sequence[Lease]) -> None:
        """Give a round and stay with it until the next is due."""
        began = self._began_at = time.monotonic()
        self._planned = {keeper.flow.name: self.leases_of(keeper) for keeper in self._keepers}
        is_short = self._is_short(2 * len(leases))
        is_settled = self._round is not None and self._round.places == {p for lease in leases for p in lease.places}
        self._say_leases(leases)
        self._round = current = self._desk.publish(leases, at_once=self._is_short(self._desk.count_out() + len(leases)))
        self._ledger.begin_round()
        if not self._start(current):
            return
        for keeper in self._keepers:
            keeper.write_progress_soon()
        lead_s = 0.0 if is_short else min(LEAD_S, self.lease_s / 2)  # no slot in which the next could wait
        self._watch(current, lambda: current.ended() or self._is_outgrown(current), self.lease_s - lead_s)
        if is_settled and not (is_short and self._has_groups) and not self._has_goal:
            wants_next = functools.partial(self._wants_next, current)
            self._watch(current, wants_next, (ROUND_LEASES - 1) * self.lease_s)
        if current.ended():
            self._news.wait(max(0.0, SHORTEST_ROUND_S - (time.monotonic() - began)))

    def _say_leases(self, leases: Sequence[Lease]) -> None:
        for keeper in self._keepers:
            name = keeper.flow.name
            count = sum(lease.flow == name for lease in leases)
            if count and count != self._said_leases.get(name):
                self._said_leases[name] = count
                log.info("flow %s: copies with %d of at most %d tasks", name, count, self.tasks_of(keeper))

    def _start(self, current: Round) -> bool:
        """Until all its tasks are there, or something needs the next round. False: others have to be sent."""
        began = time.monotonic()
        start_s = START_S if self._has_begun else FIRST_START_S
        warn_at = began + FIRST_START_S
        while not self._is_over(current, current.going):
            self._await(lambda: self._is_over(current, current.going), 1.0)
            late_s = time.monotonic() - began
            self._make_room(current, late_s)
            if sum(map(self.tasks_of, self._keepers)) < len(current.states):
                return False
            if late_s >= start_s and not self._is_short(1):
                log.warning("Spark has not started all tasks of a round within %.0f s: others are sent", late_s)
                return False
            if time.monotonic() >= warn_at:
                warn_at += FIRST_START_S
                log.warning("Spark has not started all tasks within %.0f s: has it executors and slots?", late_s)
        self._has_begun |= current.going()
        return True

    def _make_room(self, current: Round, late_s: float) -> None:
        """Those before it end where its tasks have no slot, or no query comes for it."""
        tasks = self._desk.count_out() + current.count_planned()
        if self._is_short(tasks) or (late_s >= TAKE_S and not self._desk.is_taken(current.number)):
            self._desk.recall(before=current.number)

    def _is_short(self, tasks: int) -> bool:
        """Tasks that wait for their turn would hold the slots that others need: groups, and each other."""
        return not self._local_slots and self._slots < tasks

    def _wants_next(self, current: Round) -> bool:
        """Something stands still that the next round tries again, there are more slots, or tasks are pressed."""
        if current.frays():
            return True
        if any(self._ledger.troubled(k.flow.name) for k in self._keepers if k.view.is_active and not k.flow.by_rows):
            return True
        if self._is_outgrown(current) or self._has_shrunk(current):
            return True
        if time.monotonic() - self._began_at < PRESSED_LEASES * self.lease_s - LEAD_S:
            return False
        return any(self._is_pressed(current, keeper.flow.name) for keeper in self._keepers)

    def _is_pressed(self, current: Round, flow: str) -> bool:
        """And its partitions may be shared out in another way."""
        leases, partitions = current.size_of(flow)
        return 1 < leases < partitions and is_pressed(self._desk.loads(flow))

    def _is_outgrown(self, current: Round) -> bool:
        """There are more slots, or there is more to do, and partitions enough for more leases."""
        for keeper in self._keepers:
            leases, partitions = current.size_of(keeper.flow.name)
            if partitions > leases and self.leases_of(keeper) > self._planned.get(keeper.flow.name, leases):
                return True
        return False

    def _has_shrunk(self, current: Round) -> bool:
        """Fewer would do."""
        for keeper in self._keepers:
            planned = self._planned.get(keeper.flow.name, 0)
            if self.leases_of(keeper) < min(planned, current.size_of(keeper.flow.name)[0]):
                return True
        return False

    def _watch(self, current: Round, done: Callable[[], bool], seconds: float) -> None:
        """Until it is over; tending to the rest meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._is_over(current, done):
            self._await(lambda: self._is_over(current, done), min(1.0, max(0.0, until - time.monotonic())))

    def _await(self, over: Callable[[], bool], seconds: float) -> None:
        self._desk.wait(over, seconds)
        self._tend()
        self.look_at_slots()
        self._look_at_demand()

    def _is_over(self, current: Round, done: Callable[[], bool]) -> bool:
        """`done`, news, or a task needs help."""
        return self._news.is_set() or done() or current.needs_help(time.monotonic())
