"""When holes count as coming faster than they are filled."""

from __future__ import annotations

from sparkmirror.control.hole_watch import Filling, HoleWatch
from sparkmirror.control.lag import Ends

PLACE = ("t", 0)


def look(watch: HoleWatch, lag: int, holes: int, fill_ms: int, at: float) -> set[tuple[str, int]]:
    return set(watch.look({PLACE: Ends(1000 + lag, 1000 + lag, 1000)}, {PLACE: Filling(holes, fill_ms, at)}))


def test_filling_all_the_time_while_the_lag_grows_is_a_fact_until_less_than_a_round_is_missing() -> None:
    watch = HoleWatch()
    assert look(watch, 2_000, 1_000, 9_000, 10.0) == set()
    assert look(watch, 5_000, 2_000, 18_000, 20.0) == {PLACE}
    assert look(watch, 4_000, 3_000, 27_000, 30.0) == {PLACE}, "still far behind"
    assert look(watch, 900, 4_000, 36_000, 40.0) == set()


def test_neither_a_growing_lag_with_little_filling_nor_much_filling_that_keeps_pace_is_one() -> None:
    watch = HoleWatch()
    look(watch, 2_000, 1_000, 1_000, 10.0)
    assert look(watch, 9_000, 2_000, 2_000, 20.0) == set()
    assert look(watch, 8_000, 3_000, 11_000, 30.0) == set()
    assert look(watch, 900, 4_000, 20_000, 40.0) == set()


def test_nothing_is_decided_between_receipts_but_an_end_is_seen() -> None:
    watch = HoleWatch()
    look(watch, 2_000, 1_000, 9_000, 10.0)
    assert look(watch, 9_000, 1_000, 9_000, 10.0) == set()
    assert look(watch, 9_000, 2_000, 18_000, 20.0) == {PLACE}
    assert look(watch, 0, 2_000, 18_000, 20.0) == set()
    assert watch.look({}, {PLACE: Filling(9_000, 99_000, 90.0)}) == {}
