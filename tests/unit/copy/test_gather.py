"""A lane's fetches gather a steady flow, and a record on its own is answered at once."""

from __future__ import annotations

import numpy as np
import pytest

from sparkmirror.copy.lane import gather
from sparkmirror.copy.lane.table import Table
from sparkmirror.copy.lease import Bounds

MS = 1_000_000
AT_ONCE = 1


def begin(**bounds: int) -> Table:
    return np.array(gather.plan_gathering(Bounds(**bounds), 0), np.int64)


def answer(row: Table, size: int, *, took_ms: float, every_ms: float, waited_ms: int = 4) -> tuple[int, int]:
    """What is asked for after an answer of this size, that came so long after the last one."""
    now = int(row[gather.AT]) + int(every_ms * MS)
    gather.note_answer(row, size, size > 100, int(took_ms * MS), waited_ms, now)
    return gather.plan_fetch(row)


def test_a_record_now_and_then_is_not_waited_with() -> None:
    row = begin()
    for _ in range(5):
        assert answer(row, 300, took_ms=40, every_ms=50)[1] == AT_ONCE


def test_records_that_come_more_seldom_than_the_target_are_not_waited_with_though_answers_bring_none() -> None:
    row = begin(latency_ms=8)
    for _ in range(5):
        assert answer(row, 20, took_ms=8, every_ms=8)[1] == AT_ONCE
        assert answer(row, 1100, took_ms=2, every_ms=10)[1] == AT_ONCE


def test_what_comes_after_a_silence_is_soon_known() -> None:
    row = begin(latency_ms=8)
    answer(row, 1100, took_ms=2000, every_ms=3_600_000)
    for _ in range(30):
        found = answer(row, 40_000, took_ms=1, every_ms=2)
    assert found[0] == 8 and found[1] > 7_000


@pytest.mark.parametrize("latency_ms", [1, 8, 50])
def test_records_that_come_all_the_time_are_gathered_for_the_target_until_none_comes(latency_ms: int) -> None:
    row = begin(latency_ms=latency_ms)
    assert answer(row, 300, took_ms=0.5, every_ms=1)[0] == latency_ms
    wait_ms, least_bytes = answer(row, 300, took_ms=latency_ms + 20, every_ms=latency_ms + 20)
    assert wait_ms == latency_ms and least_bytes < 300 * latency_ms
    assert answer(row, 20, took_ms=latency_ms, every_ms=latency_ms)[1] == AT_ONCE


@pytest.mark.parametrize(("rate_kb", "wished"), [(1, 8000), (4, 27_900), (20, 49_200), (50, 89_200)])
@pytest.mark.parametrize("batch", [700, 5_000, 16_400, 60_000])
def test_of_much_traffic_less_than_comes_in_the_target_is_enough_however_large_its_batches_are(
    rate_kb: int, wished: int, batch: int
) -> None:
    """A broker answers as soon as so many whole batches are there."""
    row, sizes, least = begin(latency_ms=8), [], 1
    for _ in range(400):
        sizes.append(-(-least // batch) * batch)
        every_ms = sizes[-1] / (1000 * rate_kb)
        _, least = answer(row, sizes[-1], took_ms=every_ms, every_ms=every_ms)
    assert sum(sizes[200:]) / 200 == pytest.approx(max(batch, wished), rel=0.05)


def test_a_flood_comes_in_large_pieces_and_is_over_when_it_no_longer_fills_them() -> None:
    row = begin()
    assert answer(row, 600_000, took_ms=1, every_ms=2) == (gather.FLOOD_MS, gather.FLOOD_GATHER_BYTES)
    assert answer(row, 600_000, took_ms=20, every_ms=20, waited_ms=20)[0] == 8


def test_waits_without_records_grow_and_begin_anew() -> None:
    row = begin(fetch_wait_ms=300)
    waits = [gather.plan_fetch(row)[0] for _ in range(5)]
    assert waits == [50, 100, 200, 300, 300]
    answer(row, 300, took_ms=1, every_ms=1)
    assert answer(row, 20, took_ms=4, every_ms=4) == (50, AT_ONCE)


def test_bytes_that_the_user_wants_to_wait_for_hold_always() -> None:
    row = begin(fetch_min_bytes=5000, fetch_wait_ms=40)
    for size in (20, 300, 700_000):
        assert answer(row, size, took_ms=1, every_ms=1) == (40, 5000)
