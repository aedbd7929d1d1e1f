"""Percentiles, ratios and the check of offsets."""

from __future__ import annotations

import pytest

from bench.measurement import Measurement, middle_of, percentile, ratio_text, surplus_of


def test_percentile_is_a_measured_value() -> None:
    values = [float(n) for n in range(200, 0, -1)]
    assert percentile(values, 50) == 100
    assert percentile(values, 99) == 198
    assert percentile(values, 100) == 200


def test_percentile_of_one_value_is_that_value() -> None:
    assert percentile([7.0], 1) == percentile([7.0], 99) == 7.0


def test_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (1.0, 8.3, "1/8.3"),
        (2.0, 2.0, "1/1.0"),
        (1.4, 1.0, "1.4x"),
        (1.0, 250.0, "1/250"),
        (None, 1.0, "-"),
        (1.0, None, "-"),
        (0.0, 1.0, "-"),
    ],
)
def test_ratio(ours: float | None, theirs: float | None, text: str) -> None:
    assert ratio_text(ours, theirs) == text


def test_surplus_counts_duplicates_over_all_partitions() -> None:
    assert surplus_of({0: 10, 1: 10}, {0: 12, 1: 10}) == 2
    assert surplus_of({0: 10, 1: 10}, {0: 10, 1: 10}) == 0


def test_missing_records_are_not_hidden_by_duplicates() -> None:
    assert surplus_of({0: 10, 1: 10}, {0: 15, 1: 7}) == -3
    assert surplus_of({0: 10}, {}) == -10


def _burst(cpu_s: float, peak: int, surplus: int = 0) -> Measurement:
    return Measurement(
        mirror="mm2", scenario="burst", wall_s=2 * cpu_s, cpu_s=cpu_s, peak_memory_bytes=peak, surplus=surplus, note="n"
    )


def test_the_middle_burst_counts_with_the_most_memory_and_all_that_came_twice() -> None:
    middle = middle_of([_burst(3.0, 10), _burst(1.0, 30), _burst(2.0, 20, surplus=7)])
    assert (middle.cpu_s, middle.wall_s, middle.peak_memory_bytes, middle.surplus) == (2.0, 4.0, 30, 7)
    assert middle.note == "n; CPU of all: 3.00, 1.00, 2.00 s"


def test_a_single_burst_is_the_middle_one() -> None:
    assert middle_of([_burst(3.0, 10)]) == _burst(3.0, 10)
