"""What the source has and the target lacks, whichever side was heard last."""

from __future__ import annotations

import pytest

from sparkmirror.control.evident import has_shrunk
from sparkmirror.control.lag import Ends, count_missing, find_lag, last_known, merge_ends, move_sources, sum_lags
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

PLACE = ("t", 0)


@pytest.mark.parametrize(
    ("end", "told", "kind", "lag"),
    [
        (Ends(100, 100, 100), None, "", 0),
        (Ends(100, 100, 90), None, "", 10),
        # Tasks told more since the logs were asked.
        (Ends(100, 100, 60), Standing(95, 94, 95), "", 5),
        (Ends(100, 100, 60), Standing(120, 119, 120), "", 0),
        # The target went away after much was copied, and the source goes on.
        (Ends(400, 400, 10), Standing(100, 99, 100), WAITING, 300),
        # Somebody else wrote into the target: its end is not ours.
        (Ends(110, 110, 111), Standing(10, 9, 10), STOPPED, 100),
        (Ends(110, 110, 111), Standing(10, 9, 10), "", 100),
        (Ends(110, 110, 110), Standing(10, 9, 10), NOTED, 0),
        # The target lost what was told to be there.
        (Ends(110, 110, 50), Standing(110, 109, 110), STOPPED, 60),
        # Offsets differ; a MirrorMaker 2 said the source's alone.
        (Ends(110, 110, 500, copied=100), Standing(105, 9, 505, translated="why"), "", 5),
        (Ends(110, 110, 500), Standing(100), "", 10),
    ],
)
def test_lag_is_what_the_source_has_and_the_target_lacks(end: Ends, told: Standing | None, kind: str, lag: int) -> None:
    assert find_lag(end, told, Fact(kind=kind, error="why") if kind else None) == lag


def test_of_a_source_topic_that_was_made_anew_all_is_missing() -> None:
    fact = Fact(kind=STOPPED, name="source-recreated", error="why")
    assert find_lag(Ends(5, 5, 100), Standing(100, 99, 100), fact) == 5


@pytest.mark.parametrize(
    ("target_end", "progress", "is_shorter"),
    [
        (10, Standing(10, 9, 10), False),
        (9, Standing(10, 9, 10), True),
        (0, Standing(10, 9, 10), True),
        (5, None, False),
        (5, Standing(10), False),  # a MirrorMaker 2 told the source's offset alone
        (29, Standing(10, 9, 30, translated="why"), True),
    ],
)
def test_a_target_that_is_shorter_than_progress_says_is_looked_at(
    target_end: int, progress: Standing | None, is_shorter: bool
) -> None:
    assert has_shrunk(target_end, progress) == is_shorter


def test_a_side_that_is_away_keeps_what_was_last_heard_of_it() -> None:
    known = {PLACE: Ends(10, 12, 10), ("u", 0): Ends(5, 5, 5)}
    grown = move_sources(known, {PLACE: 310}, {PLACE: 310})
    assert grown == {PLACE: Ends(310, 310, 10), ("u", 0): Ends(5, 5, 5)}
    assert merge_ends(grown, {("u", 0): Ends(6, 6, 5)})[PLACE].lag == 300


def test_a_lag_of_0_is_not_known_while_the_source_can_not_be_asked() -> None:
    assert last_known(0, is_deaf=False) == 0
    assert last_known(0, is_deaf=True) is None
    assert last_known(20, is_deaf=True) == 20


def test_a_sum_is_never_0_where_a_lag_is_not_known() -> None:
    assert sum_lags([]) == sum_lags([0, 0]) == 0
    assert sum_lags([0, None]) is None
    assert sum_lags([3, None]) == 3


def test_what_a_consumer_would_miss_counts_open_transactions_and_stops_and_leaves_heartbeats_out() -> None:
    ends = {PLACE: Ends(100, 110, 105), ("heartbeats", 0): Ends(9, 9, 0)}
    told = {PLACE: Standing(40, 39, 40)}
    assert count_missing(ends, told, {}) == {PLACE: 10}
    assert count_missing(ends, told, {PLACE: Fact(kind=STOPPED, error="why")}) == {PLACE: 70}
