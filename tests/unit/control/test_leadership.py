"""An outsider takes a flow for running while its leader's newest record is young."""

from __future__ import annotations

from dataclasses import replace

from sparkmirror.control.leadership import is_running
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
