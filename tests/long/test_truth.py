"""What an operator is told of each trouble within five seconds, by five views, and that what they say to do helps."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from sparkmirror.topology.fact import WHOLE_FLOW
from tests.chaos.side import await_true
from tests.truth.kinds import all_acts
from tests.truth.table import table
from tests.truth.trouble import Stage, Trouble, is_well, judge
from tests.truth.views import read_file
from tests.truth.world import CALM_S, NEIGHBOUR, World, build_world

pytestmark = pytest.mark.timeout(1500)
ONLY = os.environ.get("ONLY", "").split(",")  # troubles whose names hold one of these


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with build_world() as world:
        yield world


def test_each_trouble_is_told_by_all_views_and_cured_by_what_they_print(world: World) -> None:
    first, *acts = ([trouble for trouble in act if any(part in trouble.name for part in ONLY)] for act in all_acts())
    stage = Stage(world)
    begin(stage, first, [trouble for act in acts for trouble in act])
    for act in acts:
        stage.play(*act)
    stage.ask_again()
    print(table(stage.rows))
    wrong = {row.trouble.name: found for row in stage.rows if (found := judge(row))}
    assert not wrong, "\n".join(f"{name}: {text}" for name, found in wrong.items() for text in found)


def begin(stage: Stage, first: list[Trouble], others: list[Trouble]) -> None:
    """Until all is copied and the mirror knows it. `first`: what keeps it from starting."""
    world = stage.world
    world.make(NEIGHBOUR, 1)
    for trouble in others:
        trouble.prepare(world)
    if first:
        stage.play(*first)
    else:
        world.start()
    world.await_copied(NEIGHBOUR, 1, 90)
    for trouble in others:
        trouble.settle(world)
    await_true(lambda: is_well(read_file(world.running.status_file, WHOLE_FLOW), WHOLE_FLOW), "a well flow", 30)
    time.sleep(CALM_S)
