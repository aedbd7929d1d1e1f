"""What an operator is told of each trouble within five seconds, by five views, and that what they say to do helps."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sparkmirror.topology.fact import WHOLE_FLOW
from tests.chaos.side import await_true
from tests.truth import clusters, logs, partitions, starts
from tests.truth.table import table
from tests.truth.trouble import Stage, Trouble, is_well_flow, judge
from tests.truth.views import read_file
from tests.truth.world import NEIGHBOUR, World, build_world

pytestmark = pytest.mark.timeout(1200)
ONLY = os.environ.get("ONLY", "")  # troubles whose names hold it


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with build_world() as world:
        yield world


def test_each_trouble_is_told_by_all_views_and_cured_by_what_they_print(world: World) -> None:
    whole: list[Trouble] = [*clusters.ALL, *(kind() for kind in starts.ALL)]
    acts: list[list[Trouble]] = [
        [kind() for kind in partitions.ONES],
        [kind() for kind in logs.SOURCES],
        [kind() for kind in logs.TARGETS],
        *([trouble] for trouble in whole),
    ]
    acts = [chosen for act in acts if (chosen := [trouble for trouble in act if ONLY in trouble.name])]
    begin(world, [trouble for act in acts for trouble in act])
    stage = Stage(world)
    for act in acts:
        stage.play(*act)
    print(table(stage.rows))
    wrong = {row.trouble.name: found for row in stage.rows if (found := judge(row))}
    assert not wrong, "\n".join(f"{name}: {text}" for name, found in wrong.items() for text in found)


def begin(world: World, troubles: list[Trouble]) -> None:
    """Until all is copied and the mirror knows it."""
    world.make(NEIGHBOUR, 1)
    for trouble in troubles:
        trouble.prepare(world)
    world.start()
    world.await_copied(NEIGHBOUR, 1, 90)
    for trouble in troubles:
        trouble.settle(world)
    await_true(lambda: is_well_flow(read_file(world.running.status_file, WHOLE_FLOW)), "a well flow", 30)
