"""Who counts as leading, what it may still write when another takes over, and fences that only grow."""

from __future__ import annotations

from dataclasses import replace

from sparkmirror.control.leadership import (
    FENCES_A_GENERATION,
    has_ended,
    is_running,
    is_vacant,
    longest_left_s,
    next_fence,
    term_s,
    unguarded_s,
)
from sparkmirror.copy.lease import FENCE_STEP
from sparkmirror.offsets.claims import Leadership

LEADER = Leadership(3, "d", False, written_ms=1_000_000)


def test_a_leader_runs_for_three_leases_and_a_margin_after_its_last_word() -> None:
    assert is_running(LEADER, 10, 1_000_000)
    assert is_running(LEADER, 10, 1_032_000)
    assert not is_running(LEADER, 10, 1_032_001)


def test_a_clock_that_is_behind_does_not_matter() -> None:
    assert is_running(LEADER, 10, 990_000)


def test_nobody_and_a_leader_that_has_released_do_not_run() -> None:
    assert not is_running(None, 10, 1_000_000)
    assert not is_running(replace(LEADER, released=True), 10, 1_000_000)


def test_one_who_stands_by_takes_over_from_the_silent_and_the_released() -> None:
    assert is_vacant(None, 0, 10) and is_vacant(replace(LEADER, released=True), 0, 10)
    assert not is_vacant(LEADER, 32, 10) and is_vacant(LEADER, 32.1, 10)


def test_leases_of_the_leader_before_are_waited_for() -> None:
    assert unguarded_s(replace(LEADER, longest_s=20), 10) == 22
    assert unguarded_s(replace(LEADER, longest_s=80), 10) == 82
    assert unguarded_s(LEADER, 10) == 32, "it does not say how long they last: as long as any"
    assert unguarded_s(replace(LEADER, longest_s=20, released=True, unsure=True), 10) == 22


def test_no_lease_is_renewed_beyond_the_word_that_its_driver_leads() -> None:
    assert [term_s(unread, 0, 10) for unread in (0, 15, 20, 99)] == [20, 5, 0, 0]
    assert [term_s(0, unsaid, 10) for unsaid in (0, 10, 25, 30, 99)] == [20, 20, 5, 0, 0]


def test_who_has_shorter_leases_waits_for_the_longer_ones_of_the_leader() -> None:
    assert not is_vacant(replace(LEADER, longest_s=80), 82, 10) and is_vacant(replace(LEADER, longest_s=80), 82.1, 10)


def test_leases_of_nobody_and_of_one_that_has_released_are_not() -> None:
    assert unguarded_s(None, 10) == 0
    assert unguarded_s(replace(LEADER, released=True), 10) == 0


def test_fences_of_a_generation_are_above_all_before_and_below_all_behind() -> None:
    fences = [0]
    for generation in (3, 3, 3, 4, 4, 9):
        fences.append(next_fence(fences[-1], generation) or 0)
    assert fences == sorted(set(fences))
    assert fences[1] == 3 * FENCES_A_GENERATION and fences[4] == 4 * FENCES_A_GENERATION


def test_a_generation_has_no_fence_that_the_next_one_has() -> None:
    last = 0
    drawn: list[int] = []
    while (fence := next_fence(last, 3)) is not None:
        last = fence
        drawn += range(fence, fence + FENCE_STEP)  # a lease may use so many
    assert drawn == list(range(3 * FENCES_A_GENERATION, 4 * FENCES_A_GENERATION))


def test_an_outsider_takes_a_leader_for_gone_by_its_own_clock() -> None:
    old = replace(LEADER, written_ms=0, longest_s=30)
    assert not has_ended(old, 32, 10) and has_ended(old, 32.1, 10), "however old its record looks"
    assert not has_ended(replace(old, longest_s=80), 82, 10) and has_ended(replace(old, longest_s=80), 82.1, 10)
    assert has_ended(replace(old, released=True), 0, 10)
    assert not has_ended(replace(old, released=True, unsure=True), 32, 10), "it does not know who led before"
    assert not has_ended(None, 32, 10)


def test_leases_of_a_driver_before_the_last_are_handed_down() -> None:
    assert longest_left_s(replace(LEADER, longest_s=80), 10) == 80
    assert longest_left_s(replace(LEADER, longest_s=80, released=True), 10) == 30 == longest_left_s(None, 10)
    assert longest_left_s(replace(LEADER, longest_s=30), 10) == 30, "it does not grow from driver to driver"
