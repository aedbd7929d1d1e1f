"""Steps of a plan, one after the other, in worlds that are reused: fault, recovery, comparison, verdict."""

from __future__ import annotations

import contextlib
import random
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

from bench.mirrors import without_paths
from tests.chaos.driver import Driver
from tests.chaos.fault import Fault, Kind
from tests.chaos.judge import Findings
from tests.chaos.plan import Step
from tests.chaos.results import BROKEN, GOOD, LATE, STUCK, UNEQUAL, UNNAMED, Result
from tests.chaos.side import SOURCE, TARGET
from tests.chaos.world import SHAPES, World, build_world

GIVE_UP_S = 45.0  # what takes longer is stuck, unless its limit is longer


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
        began, marks = time.monotonic(), dict[Driver, int]()
        kinds = [self._kinds[name] for name in step.kinds]
        trial = Trial(max(kind.limit_s for kind in kinds))
        try:
            world = self._enter(step.world)
            marks = {driver: len(driver.log()) for driver in world.drivers}
            dice = random.Random(f"{self._seed} {step.index}")
            trial.run(world, [kind.make(world, dice) for kind in kinds])
        except Exception:
            trial.verdict, trial.said = BROKEN, traceback.format_exc(limit=-4)
        result = self._result(self._plan, step.index, step.world, step.kinds, trial, began)
        drivers = self._world.drivers if self._world else []
        return result, "\n".join(driver.log()[marks.get(driver, 0) :] for driver in drivers)

    def _enter(self, name: str) -> World:
        if self._world is None or self._world.shape.name != name:
            self._finish()
            self._world = self._open.enter_context(build_world(SHAPES[name], disks=True))
        return self._world

    def _finish(self) -> None:
        """The whole of both sides is compared before a world ends well."""
        if self._world is None:
            return
        world, began, trial = self._world, time.monotonic(), Trial(GIVE_UP_S)
        try:
            trial.await_copying(world)
            trial.compare(world, whole=True)
            plan = f"{self._plan} whole {time.time():.0f}"
            self._note(self._result(plan, 0, world.shape.name, (), trial, began), world.log())
        finally:
            self._leave()

    def _leave(self) -> None:
        self._world = None
        self._open.close()

    def _result(self, plan: str, index: int, world: str, kinds: tuple[str, ...], trial: Trial, began: float) -> Result:
        return Result(
            plan=plan,
            index=index,
            world=world,
            kinds=kinds,
            compared=trial.findings.compared,
            lost=trial.findings.lost,
            twice=trial.findings.twice,
            recover_s=trial.recover_s,
            limit_s=trial.limit_s,
            took_s=round(time.monotonic() - began, 1),
            verdict=trial.verdict,
            said=without_paths(trial.said),
        )


class Trial:
    """Faults that come at once, and what became of it. `limit_s`: how long it may take to recover."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.findings = Findings()
        self.recover_s: float | None = None
        self.verdict = GOOD
        self.said = ""

    def run(self, world: World, faults: Sequence[Fault]) -> None:
        for fault in faults:
            fault.prepare()
        for fault in faults:
            fault.begin()
        for fault in sorted(faults, key=lambda fault: fault.lasts_until_said):
            fault.hold()
            fault.end()
        for side in (SOURCE, TARGET):
            world.side(side).await_usable()
        self.await_copying(world, [fault.recovered_s for fault in faults if fault.recovered_s is not None])
        if self.verdict != STUCK:
            self._judge(world, faults)
        self.compare(world)

    def await_copying(self, world: World, measured: Sequence[float] = ()) -> None:
        """`measured`: what faults have measured themselves."""
        world.comparison.note_ends()
        try:
            recovered_s = world.comparison.await_copied(max(GIVE_UP_S, 1.5 * self.limit_s))
        except AssertionError as error:
            self.verdict, self.said = STUCK, str(error)
            return
        self.recover_s = round(max(measured or [recovered_s]), 2)
        if self.recover_s > self.limit_s:
            self.verdict, self.said = LATE, f"recovered after {self.recover_s:g} s, not {self.limit_s:g}"

    def _judge(self, world: World, faults: Sequence[Fault]) -> None:
        complaints = [complaint for fault in faults for complaint in fault.judge()]
        if not world.driver.is_alive:
            complaints.append("the driver ended by itself")
            world.driver.restart()
        world.await_copying(max(GIVE_UP_S, 1.5 * self.limit_s))
        if complaints:
            self.verdict, self.said = UNNAMED, "; ".join(complaints)

    def compare(self, world: World, *, whole: bool = False) -> None:
        """Also of what is stuck: what was copied must be right."""
        if self.verdict == STUCK:
            world.comparison.limit_to_copied()
        self.findings = world.comparison.compare(whole=whole)
        if not self.findings.is_equal:
            self.verdict, self.said = UNEQUAL, self.findings.first
