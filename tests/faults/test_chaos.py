"""A short set of the suite that `make faults` runs at length, and a planted fault that its comparison must find."""

from __future__ import annotations

import random

import pytest

from tests.chaos.kinds import KINDS
from tests.chaos.results import GOOD
from tests.chaos.runner import Trial
from tests.chaos.traffic import PLAIN
from tests.chaos.world import SHAPES, build_world

FIXED = ("worker-killed", "cut-target", "split-source", "target-topic-deleted", "not-enough-replicas-target")

LIMIT_S = 30.0  # of a busy machine


@pytest.mark.timeout(300)
def test_faults_lose_and_double_nothing_and_a_planted_double_is_found() -> None:
    with build_world(SHAPES["one"]) as world:
        for name in FIXED:
            trial = Trial(LIMIT_S)
            trial.run(world, [KINDS[name].make(world, random.Random(name))])
            print(f"{name}: recovered after {trial.recover_s} s, {trial.findings}")
            assert (trial.verdict, trial.findings.compared > 0) == (GOOD, True), f"{name}: {trial.said}"
        world.await_copying()
        assert world.comparison.compare(whole=True).is_equal
        world.target.write(f"A.{PLAIN.name}", [b"0"])
        assert world.comparison.compare(whole=True).twice == 1
