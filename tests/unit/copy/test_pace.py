"""A broker gathers while records come thick and fast, and answers a single one at once."""

from __future__ import annotations

import pytest

from sparkmirror.copy.lease import Bounds
from sparkmirror.copy.pace import (
    FIRST_WAIT_MS,
    FLOOD_BYTES,
    FLOOD_GATHER_BYTES,
    FLOOD_MS,
    GATHER_BYTES,
    GATHER_MS,
    MUCH_BYTES,
    QUICK_MS,
    Pace,
)

AT_ONCE = 1
QUICKLY, LATER = 0.9 * QUICK_MS / 1000, 1.1 * QUICK_MS / 1000


@pytest.fixture
def pace() -> Pace:
    pace = Pace(Bounds())
    pace.plan(is_other=True)
    return pace


def test_a_single_record_is_not_waited_with(pace: Pace) -> None:
    for _ in range(5):
        pace.note(200, has_records=True, took_s=LATER)
        assert pace.plan(is_other=False)[1] == AT_ONCE


def test_records_that_come_every_few_milliseconds_are_gathered_until_none_comes(pace: Pace) -> None:
    pace.note(200, has_records=True, took_s=QUICKLY)
    assert pace.plan(is_other=False) == (QUICK_MS, GATHER_BYTES)
    pace.note(200, has_records=True, took_s=LATER)
    assert pace.plan(is_other=False) == (QUICK_MS, GATHER_BYTES)
    pace.note(60, has_records=False, took_s=LATER)
    assert pace.plan(is_other=False)[1] == AT_ONCE


def test_answers_without_records_are_not_quick(pace: Pace) -> None:
    pace.note(60, has_records=False, took_s=QUICKLY)
    assert pace.plan(is_other=False)[1] == AT_ONCE


def test_much_is_gathered_longer(pace: Pace) -> None:
    pace.note(MUCH_BYTES, has_records=True, took_s=LATER)
    assert pace.plan(is_other=False) == (GATHER_MS, GATHER_BYTES)
    pace.note(FLOOD_BYTES, has_records=True, took_s=LATER)
    assert pace.plan(is_other=False) == (FLOOD_MS, FLOOD_GATHER_BYTES)
    pace.note(FLOOD_BYTES - 1, has_records=True, took_s=LATER)
    assert pace.plan(is_other=False) == (GATHER_MS, GATHER_BYTES)


def test_no_more_is_waited_for_than_a_partition_may_bring() -> None:
    """Else each fetch of a single one would take all of its time."""
    pace = Pace(Bounds(partition_bytes=MUCH_BYTES))
    for size in (FLOOD_BYTES, MUCH_BYTES, 200):
        pace.note(size, has_records=True, took_s=QUICKLY)
        assert pace.plan(is_other=False)[1] == MUCH_BYTES


def test_who_joins_waits_little(pace: Pace) -> None:
    for _ in range(5):
        pace.plan(is_other=False)
    assert pace.plan(is_other=True)[0] == FIRST_WAIT_MS


def test_bytes_that_the_user_wants_to_wait_for_hold_always() -> None:
    pace = Pace(Bounds(fetch_min_bytes=5000, fetch_wait_ms=40))
    pace.note(MUCH_BYTES, has_records=True, took_s=QUICKLY)
    assert pace.plan(is_other=False) == (40, 5000)
