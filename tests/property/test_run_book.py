"""Runs in about any order, kept in small chunks: what is written is what was said."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sparkmirror.offsets import run_book
from sparkmirror.offsets.run_book import RunBook
from sparkmirror.offsets.runs import parse_chunk, span_of
from sparkmirror.topology.run import Run
from tests.property.test_offset_map import lay_out, steps


class Kept:
    """A topic that keeps the newest value of each chunk."""

    def __init__(self) -> None:
        self.values: dict[int, bytes] = {}
        self.book = self.open()

    def open(self) -> RunBook:
        full = {number: span_of(parse_chunk(value)) for number, value in self.values.items()}
        self.book = RunBook(lambda number: parse_chunk(self.values[number]), full)
        return self.book

    def write(self) -> None:
        for number, value in self.book.take_changes().items():
            if value is None:
                self.values.pop(number, None)
            else:
                self.values[number] = value

    def runs(self) -> list[Run]:
        return [run for number in sorted(self.values) for run in parse_chunk(self.values[number]).runs()]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_book, "CHUNK_RUNS", 3)


def pieces_of(runs: list[Run], size: int) -> list[Run]:
    """The runs as receipts bring them: in parts."""
    return [
        Run(run.source + at, run.target + at, min(size, run.length - at))
        for run in runs
        for at in range(0, run.length, size)
    ]


@given(steps, st.integers(1, 4), st.data())
def test_late_and_repeated_receipts_change_nothing(
    laid: list[tuple[int, int, int]], size: int, data: st.DataObject
) -> None:
    runs = lay_out(laid, 10, 4)
    pieces = pieces_of(runs, size)
    kept = Kept()
    while pieces:
        at = data.draw(st.integers(0, min(4, len(pieces) - 1)))  # some are late
        piece = pieces.pop(at)
        kept.book.add(piece)
        action = data.draw(st.integers(0, 4))
        if action == 0:
            kept.write()
            kept.open()  # a driver that died
        elif action == 1:
            kept.write()
        elif action == 2:
            kept.book.add(piece)
    for run in data.draw(st.lists(st.sampled_from(runs), max_size=3)):
        kept.book.add(run)
    kept.write()
    assert kept.runs() == runs


@given(steps, steps, st.integers(1, 3), st.data())
def test_a_source_that_was_cut_back_goes_on_from_there(
    laid: list[tuple[int, int, int]], more: list[tuple[int, int, int]], size: int, data: st.DataObject
) -> None:
    runs = lay_out(laid, 0, 0)
    kept = Kept()
    for piece in pieces_of(runs, size):
        kept.book.add(piece)
        if data.draw(st.booleans()):
            kept.write()
    cut = data.draw(st.integers(0, runs[-1].source_end - 1))
    again = lay_out([(0, more[0][1] + 1, more[0][2]), *more[1:]], cut, runs[-1].target_end)
    for piece in pieces_of(again, size):
        kept.book.add(piece)
    kept.write()
    before = [run for run in runs if run.source < cut]
    if before and before[-1].source_end > cut:
        before[-1] = before[-1]._replace(length=cut - before[-1].source)
    assert kept.runs() == before + again


def test_what_the_target_removed_is_forgotten() -> None:
    kept = Kept()
    for i in range(10):
        kept.book.add(Run(2 * i, i, 1))
    kept.write()
    kept.book.prune(7)
    kept.write()
    assert kept.runs() == [Run(2 * i, i, 1) for i in range(6, 10)]
