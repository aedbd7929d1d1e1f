"""The beat is the clock's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.pipeline.beating import next_beat


@given(st.floats(0, 1e10), st.sampled_from([0.5, 1.0, 2.0, 60.0]))
def test_the_next_beat_is_ahead_and_within_an_interval(now_s: float, interval_s: float) -> None:
    assert now_s < next_beat(now_s, interval_s) <= now_s + interval_s


def test_two_leases_keep_one_beat() -> None:
    assert next_beat(100.25, 1.0) == 101.0
    assert next_beat(101.0, 1.0) == 102.0
