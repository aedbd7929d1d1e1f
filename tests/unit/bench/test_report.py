"""Tables and the result file."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console

from bench.measurement import Alone, Measurement
from bench.report import COLUMNS, check_text, markdown_table, ratio_rows, result_rows, terminal_table
from bench.result_file import Run, alone_text, result_text, write_result
from bench.sizes import Sizes

MM2 = Measurement(
    mirror="mm2", scenario="burst", wall_s=20.0, cpu_s=16.6, peak_memory_bytes=2_000_000_000, records=1_000
)
OURS = Measurement(
    mirror="sparkmirror", scenario="burst", wall_s=5.0, cpu_s=2.0, peak_memory_bytes=3_000_000_000, records=1_000
)
LATENCY = Measurement(
    mirror="mm2", scenario="latency", p50_ms=11.04, p99_ms=40.0, worst_ms=99.96, records=200, surplus=3
)
FAILED = Measurement(mirror="mm2-tuned", scenario="burst", error="It ended by itself. The end of the log:\nOutOfMemory")


def run_of(*measurements: Measurement) -> Run:
    return Run(
        day=date(2030, 1, 2),
        label="try",
        sizes=Sizes.at(0.02),
        machine=[("CPU", "an abacus, 2 cores")],
        versions=[("Kafka", "4.3.1")],
        alone={"burst": Alone(3.214, 0.5)},
        scenarios=["burst", "idle", "once"],
        mirrors=["mm2", "mm2-tuned", "sparkmirror"],
        measurements=measurements,
        elapsed_s=100.0,
        not_in_force=["emit.heartbeats.enabled"],
    )


def test_rows_go_by_scenario_and_show_what_was_measured() -> None:
    assert result_rows([LATENCY, MM2]) == [
        ("burst", "mm2", "20.00", "16.60", "-", "-", "-", "2,000", "1,000", "exact", "-", ""),
        ("latency", "mm2", "-", "-", "11.0", "40.0", "100.0", "-", "200", "3 DUPLICATES", "-", ""),
    ]


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (MM2, "exact"),
        (LATENCY, "3 DUPLICATES"),
        (Measurement(mirror="mm2", scenario="burst", records=10, surplus=-4), "4 MISSING"),
        (Measurement(mirror="mm2", scenario="idle"), "-"),
        (FAILED, "FAILED"),
    ],
)
def test_check(measurement: Measurement, text: str) -> None:
    assert check_text(measurement) == text


def test_ratios_are_ours_against_each_other_mirror_that_did_not_fail() -> None:
    assert ratio_rows([MM2, FAILED, OURS, LATENCY]) == [
        ("burst", "mm2", "1/4.0", "1/8.3", "-", "-", "-", "1.5x"),
    ]


def test_markdown_keeps_columns_apart() -> None:
    assert markdown_table(("mirror", "wall s"), [("a|b", "1")]) == "| mirror | wall s |\n| --- | ---: |\n| a\\|b | 1 |"


def test_terminal_table_shows_every_row() -> None:
    shown = io.StringIO()
    Console(width=200, file=shown).print(terminal_table("Mirrors", COLUMNS, result_rows([MM2, OURS])))
    assert "16.60" in shown.getvalue() and "sparkmirror" in shown.getvalue()


def test_result_tells_figures_machine_failures_and_properties() -> None:
    text = result_text(run_of(MM2, OURS, FAILED))
    for part in (
        "# Benchmark 2030-01-02: try",
        "| burst | mm2 | 1/4.0 | 1/8.3 |",
        "### mm2-tuned, burst",
        "OutOfMemory",
        "an abacus",
        "burst 3.21 s (0.50 s CPU)",
        "emit.heartbeats.enabled",
        "mm2-tuned-main-b.producer.batch.size = 524288",
    ):
        assert part in text


def test_nothing_is_said_of_a_producer_that_did_not_run_alone() -> None:
    assert alone_text({}) == ""


def test_results_are_not_written_over_older_ones(tmp_path: Path) -> None:
    names = [write_result(tmp_path / "results", run_of(MM2)).name for _ in range(3)]
    assert names == ["2030-01-02-try.md", "2030-01-02-try-2.md", "2030-01-02-try-3.md"]
