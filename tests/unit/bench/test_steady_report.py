"""Steady traffic as rows: middle values, how far they lie apart, ratios turn by turn."""

from __future__ import annotations

from dataclasses import replace

from bench.measurement import Steady
from bench.steady_report import steady_ratio_rows, steady_rows

MM2 = Steady(
    mirror="mm2",
    traffic="20 MB/s",
    tasks=4,
    cores=0.4,
    cpu_s_per_gb=20.0,
    p50_ms=16.0,
    p99_ms=30.0,
    worst_ms=80.4,
    memory_bytes=2_000_000_000,
    wake_ups_s=4000.0,
    records=400_000,
)
OURS = replace(MM2, mirror="sparkmirror", cores=0.08, cpu_s_per_gb=4.0, p50_ms=12.0, wake_ups_s=300.0)
IDLE = Steady(mirror="mm2", traffic="idle", tasks=1, cores=0.02, memory_bytes=1_000_000_000, wake_ups_s=50.0, records=0)


def test_several_turns_are_one_row_in_the_order_of_the_traffic() -> None:
    turns = [MM2, replace(MM2, cores=0.5), replace(MM2, cores=0.3), IDLE]
    assert steady_rows(turns) == [
        ("idle", "1", "mm2", "0.020", "-", "-", "-", "-", "1,000", "50", "exact"),
        (
            "20 MB/s",
            "4",
            "mm2",
            "0.400 (0.300-0.500)",
            "20.00 (20.00-20.00)",
            "16.0 (16.0-16.0)",
            "30.0 (30.0-30.0)",
            "80 (80-80)",
            "2,000 (2,000-2,000)",
            "4,000 (4,000-4,000)",
            "exact",
        ),
    ]


def test_ratios_are_those_of_the_same_turn() -> None:
    turns = [MM2, replace(MM2, cores=0.8), OURS, replace(OURS, cores=0.1)]
    assert steady_ratio_rows(turns) == [
        (
            "20 MB/s",
            "4",
            "sparkmirror",
            "mm2",
            "1/5.0 (1/8.0 to 1/5.0)",
            "1/1.3 (1/1.3 to 1/1.3)",
            "1/1.0 (1/1.0 to 1/1.0)",
            "1/1.0 (1/1.0 to 1/1.0)",
        )
    ]


def test_ours_is_compared_with_what_has_the_same_settings() -> None:
    tuned = replace(MM2, mirror="mm2-tuned", cores=0.2), replace(OURS, mirror="sparkmirror-tuned", cores=0.05)
    assert [row[2:5] for row in steady_ratio_rows([MM2, *tuned])] == [("sparkmirror-tuned", "mm2-tuned", "1/4.0")]


def test_a_failure_and_duplicates_are_not_hidden_by_good_turns() -> None:
    assert steady_rows([MM2, replace(MM2, error="it ended")])[0][-1] == "FAILED"
    assert steady_rows([MM2, replace(MM2, surplus=2)])[0][-1] == "2 DUPLICATES"
    assert steady_ratio_rows([replace(MM2, error="it ended"), OURS]) == []
