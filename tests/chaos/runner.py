"""Steps of a plan, one after the other, in worlds that are reused: fault, recovery, comparison, verdict."""

from __future__ import annotations

import contextlib
import random
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

from tests.chaos.fault import Fault, Kind
from tests.chaos.judge import Findings
from tests.chaos.plan import Step
from tests.chaos.results import BROKEN, GOOD, LATE, STUCK, UNEQUAL, UNNAMED, Result
from tests.chaos.side import SOURCE, TARGET
from tests.chaos.world import SHAPES, World, build_world

GIVE_UP_S = 90.0


class Runner:
    """A world lasts until a step needs another shape, or a verdict leaves it in doubt. `note` is told each result."""

    def __init__(self, plan: str, seed: int, kinds: Mapping[str, Kind], note: Callable[[Result, str], None]) -> None:
        self._plan, self._seed, self._kinds, self._note = plan, seed, kinds, note
        self._world: World | None = None
        self._open = contextlib.ExitStack()

    def run(self, steps: Sequence[Step], goes_on: Callable[[], bool]) -> None:
        with self._open:
            for step in steps:
                if not goes_on():
                    break
                result, log = self._run_step(step)
                self._note(result, log)
                if result.verdict not in (GOOD, LATE, UNNAMED):
                    self._leave()
            self._finish()

    def _run_step(self, step: Step) -> tuple[Result, str]:
        began = time.monotonic()
        world = self._enter(step.world)
        marks = {driver: len(driver.log()) for driver in world.drivers}
        trial = Trial()
        try:
            dice = random.Random(f"{self._seed} {step.index}")
            trial.run(world, [self._kinds[name].make(world, dice) for name in step.kinds])
        except Exception:
            trial.verdict, trial.said = BROKEN, traceback.format_exc(limit=-4)
        limit_s = max(self._kinds[name].limit_s for name in step.kinds)
        result = Result(
            plan=self._plan,
            index=step.index,
            world=step.world,
            kinds=step.kinds,
            compared=trial.findings.compared,
            lost=trial.findings.lost,
            twice=trial.findings.twice,
            recover_s=trial.recover_s,
            limit_s=limit_s,
            took_s=round(time.monotonic() - began, 1),
            verdict=trial.judge(limit_s),
            said=trial.said,
        )
        return result, "\n".join(driver.log()[marks.get(driver, 0) :] for driver in world.drivers)

    def _enter(self, name: str) -> World:
        if self._world is None or self._world.shape.name != name:
            self._finish()
            self._world = self._open.enter_context(build_world(SHAPES[name], disks=True))
        return self._world

    def _finish(self) -> None:
        """The whole of both sides is compared before a world ends well."""
        if self._world is None:
            return
        world, began = self._world, time.monotonic()
        world.comparison.note_ends()
        recover_s = world.comparison.await_copied(GIVE_UP_S)
        found = world.comparison.compare(whole=True)
        result = Result(
            plan=f"{self._plan} whole {time.time():.0f}",
            index=0,
            world=world.shape.name,
            kinds=(),
            compared=found.compared,
            lost=found.lost,
            twice=found.twice,
            recover_s=recover_s,
            limit_s=GIVE_UP_S,
            took_s=round(time.monotonic() - began, 1),
            verdict=GOOD if found.is_equal else UNEQUAL,
            said=found.first,
        )
        self._note(result, "" if found.is_equal else world.log())
        self._leave()

    def _leave(self) -> None:
        self._world = None
        self._open.close()


class Trial:
    """Faults that come at once, and what became of it."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.recover_s: float | None = None
        self.verdict = GOOD
        self.said = ""

    def run(self, world: World, faults: Sequence[Fault]) -> None:
        for fault in faults:
            fault.prepare()
        for fault in faults:
            fault.begin()
        for fault in faults:
            fault.hold()
        for fault in reversed(faults):
            fault.end()
        for side in (SOURCE, TARGET):
            world.side(side).await_usable()
        self._await_copying(world, faults)
        if self.verdict == STUCK:
            return
        complaints = [complaint for fault in faults for complaint in fault.judge()]
        if not world.driver.is_alive:
            complaints.append("the driver ended by itself")
            world.driver.restart()
        world.await_copying(GIVE_UP_S)
        self.findings = world.comparison.compare()
        if complaints:
            self.verdict, self.said = UNNAMED, "; ".join(complaints)
        if not self.findings.is_equal:
            self.verdict, self.said = UNEQUAL, self.findings.first

    def _await_copying(self, world: World, faults: Sequence[Fault]) -> None:
        world.comparison.note_ends()
        try:
            recovered_s = world.comparison.await_copied(GIVE_UP_S)
        except AssertionError as error:
            self.verdict, self.said = STUCK, str(error)
            return
        own = [fault.recovered_s for fault in faults if fault.recovered_s is not None]
        self.recover_s = round(max(own or [recovered_s]), 2)

    def judge(self, limit_s: float) -> str:
        if self.verdict == GOOD and self.recover_s is not None and self.recover_s > limit_s:
            return LATE
        return self.verdict
