"""A plan comes from its seed alone."""

from __future__ import annotations

import itertools
from collections import Counter

from tests.chaos.kinds import KINDS
from tests.chaos.plan import PAIRS_OF_KINDS, Traits, choose_steps, plan_steps
from tests.chaos.world import SHAPES

TRAITS = [kind.traits for kind in KINDS.values()]
LAP = len(TRAITS) + len(TRAITS) // PAIRS_OF_KINDS


def test_the_same_seed_gives_the_same_plan_however_long_it_is() -> None:
    assert plan_steps(7, TRAITS, 300)[:40] == plan_steps(7, TRAITS, 40)
    assert plan_steps(7, TRAITS, 40) != plan_steps(8, TRAITS, 40)


def test_every_kind_comes_in_every_lap_and_in_its_worlds() -> None:
    steps = plan_steps(3, TRAITS, 2 * LAP)
    alone = Counter(step.kinds[0] for step in steps if len(step.kinds) == 1)
    assert alone == dict.fromkeys(KINDS, 2)
    assert all(step.world in KINDS[name].worlds for step in steps for name in step.kinds)
    assert {step.world for step in steps} == set(SHAPES)
    assert [step.index for step in steps] == list(range(2 * LAP))


def test_pairs_never_touch_the_same_thing() -> None:
    pairs = [step.kinds for step in plan_steps(1, TRAITS, 10 * LAP) if len(step.kinds) == 2]
    assert len(pairs) > LAP
    assert not [pair for pair in pairs if KINDS[pair[0]].touches & KINDS[pair[1]].touches]


def test_a_world_is_built_once_a_lap() -> None:
    worlds = [step.world for step in plan_steps(5, TRAITS, LAP)]
    changes = sum(one != other for one, other in itertools.pairwise(worlds))
    assert changes == len(set(worlds)) - 1


def test_kinds_that_all_touch_the_same_come_one_by_one() -> None:
    alike = [Traits(name=f"{n}", worlds=("one",), touches=frozenset({"x"})) for n in range(8)]
    assert all(len(step.kinds) == 1 for step in plan_steps(1, alike, 20))


def test_a_run_goes_on_where_the_last_one_ended_and_repeats_what_is_named() -> None:
    steps = plan_steps(1, TRAITS, 10)
    assert [step.index for step in choose_steps(steps, {0, 1, 3}, None)] == [2, 4, 5, 6, 7, 8, 9]
    assert [step.index for step in choose_steps(steps, {0, 1, 3}, range(3, 5))] == [3, 4]


def test_there_are_more_than_thirty_kinds_each_with_a_text() -> None:
    assert len(KINDS) > 30
    assert len({kind.text for kind in KINDS.values()}) == len(KINDS)
