"""Results outlive the run that made them, and become a table."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.results import GOOD, LATE, UNEQUAL, Result, ResultFile, failures
from tests.chaos.table import make_table


def result(index: int, *kinds: str, verdict: str = GOOD, recover_s: float | None = 2.0, lost: int = 0) -> Result:
    return Result(
        plan="7",
        index=index,
        world="one",
        kinds=kinds,
        compared=100,
        lost=lost,
        twice=0,
        recover_s=recover_s,
        limit_s=10.0,
        took_s=9.0,
        verdict=verdict,
    )


def test_results_are_read_back_and_tell_what_is_done(tmp_path: Path) -> None:
    file = ResultFile(tmp_path / "new" / "results.jsonl")
    assert file.read() == []
    for each in (result(0, "a"), result(1, "a", "b")):
        file.add(each)
    assert file.read() == [result(0, "a"), result(1, "a", "b")]
    assert (file.done("7"), file.done("8")) == ({0, 1}, set())


def test_the_last_result_of_a_step_counts(tmp_path: Path) -> None:
    file = ResultFile(tmp_path / "results.jsonl")
    for each in (result(0, "a", verdict=UNEQUAL, lost=3), result(1, "b"), result(0, "a")):
        file.add(each)
    assert failures(file.read()) == []
    assert len(file.read()) == 2


def test_a_line_that_a_killed_run_has_left_in_half_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = ResultFile(path)
    file.add(result(0, "a"))
    path.write_text(path.read_text() + path.read_text()[:40])
    assert file.read() == [result(0, "a")]


def test_the_table_counts_each_kind_of_a_pair() -> None:
    results = [
        result(0, "cut", recover_s=1.0),
        result(1, "cut", "killed", recover_s=3.0),
        result(2, "cut", verdict=LATE, recover_s=12.0),
        result(3, "killed", verdict=UNEQUAL, recover_s=None, lost=4),
    ]
    table = make_table(results, {"cut": "connections end", "killed": "it dies", "never": "not tried"})
    assert "5 faults of 2 kinds, 400 records compared: 4 lost, 0 twice, 2 steps failed." in table
    assert "| cut | connections end | 3 | 300 | 0 | 0 | 3.0 s | 12.0 s | 1 |" in table
    assert "| killed | it dies | 2 | 200 | 4 | 0 | 3.0 s | 3.0 s | 1 |" in table
    assert "| never | not tried | 0 | | | | | | |" in table
