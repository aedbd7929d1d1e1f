"""A flow has one lease as long as one task has time left, and more as soon as it has not."""

from __future__ import annotations

import pytest

from sparkmirror.control.demand import CALM_S, Demand, share_slots

MOST = 4


@pytest.fixture
def demand() -> Demand:
    return Demand()


def test_a_flow_begins_with_one_lease_and_keeps_it_while_its_task_has_time(demand: Demand) -> None:
    for now in range(100):
        demand.note([0.3], MOST, now)
    assert demand.leases == 1


def test_tasks_without_time_become_twice_as_many_up_to_the_most(demand: Demand) -> None:
    for now, loads in enumerate(([0.9], [0.8, 0.9], [1.0] * 4)):
        demand.note(loads, MOST, now)
    assert demand.leases == MOST


def test_nothing_is_decided_before_all_tasks_of_a_round_have_told(demand: Demand) -> None:
    demand.note([0.9], MOST, 0)
    demand.note([0.9], MOST, 1)  # those of the last round
    demand.note([], MOST, 2)
    assert demand.leases == 2


def test_leases_that_are_not_needed_go_after_a_while(demand: Demand) -> None:
    demand.note([0.9], MOST, 0)
    demand.note([0.9, 0.9], MOST, 1)
    for now in range(2, int(CALM_S)):
        demand.note([0.05, 0.05, 0.05, 0.05], MOST, now)
        assert demand.leases == MOST
    demand.note([0.05, 0.05, 0.05, 0.05], MOST, 3 + CALM_S)
    assert demand.leases == 1


def test_what_was_needed_once_in_a_while_stays(demand: Demand) -> None:
    demand.note([0.9], MOST, 0)
    demand.note([0.9, 0.9], MOST, 1)
    for now in range(2, 200):
        demand.note([0.05] * 4 if now % 10 else [0.25] * 4, MOST, now)
    assert demand.leases == MOST


def test_calm_is_counted_from_what_the_tasks_of_the_new_round_tell(demand: Demand) -> None:
    demand.note([0.9], MOST, 0)
    demand.note([None, None], MOST, 10)
    demand.note([0.05, 0.05], MOST, 2 * CALM_S)
    assert demand.leases == 2
    demand.note([0.05, 0.05], MOST, 3 * CALM_S)
    assert demand.leases == 1


@pytest.mark.parametrize(
    ("wanted", "slots", "shares"),
    [
        ([8, 1], 9, [8, 1]),
        ([1, 8], 9, [1, 8]),
        ([4, 4], 6, [3, 3]),
        ([8, 8, 1], 8, [3, 4, 1]),
        ([2, 2, 2], 1, [1, 1, 1]),
        ([5], 0, [1]),
        ([], 4, []),
    ],
)
def test_slots_that_one_flow_does_not_want_are_left_to_the_others(
    wanted: list[int], slots: int, shares: list[int]
) -> None:
    assert share_slots(wanted, slots) == shares
