"""Which chunks of a map hold together, and in which order they are written."""

from __future__ import annotations

import pytest

from sparkmirror.offsets.map_chain import ChunkPlace, Ids, find_chain, order_changes
from sparkmirror.offsets.runs import Span

NONE, OLD, NEW, HALF = Ids("", ""), Ids("o", "t"), Ids("n", "t"), Ids("n", "")


def chunks(*ids: Ids | None, first: int = 0) -> dict[int, ChunkPlace]:
    """None: it is missing."""
    return {
        number: ChunkPlace(each, Span(10 * number, 5 * number, 10 * number + 9, 5 * number + 4), 0, number)
        for number, each in enumerate(ids, first)
        if each is not None
    }


@pytest.mark.parametrize(
    ("known", "wanted", "numbers"),
    [
        (chunks(NEW, NEW, OLD, OLD), NEW, [0, 1]),
        (chunks(NEW, NEW, OLD, OLD), OLD, [2, 3]),
        (chunks(NONE, NONE, NEW, NEW), NEW, [0, 1, 2, 3]),
        (chunks(NONE, HALF, NEW), NEW, [0, 1, 2]),
        (chunks(NONE, NONE), NEW, [0, 1]),
        (chunks(NEW, NEW, NONE), NEW, [0, 1]),  # left over from before the upgrade
        (chunks(NEW, NEW), NONE, []),  # who does not know which topic it is does not know its map
        (chunks(NEW, None, NEW, NEW), NEW, [2, 3]),
        (chunks(NEW, NEW, first=3), NEW, [3, 4]),
        (chunks(NEW, OLD, NEW), NEW, [2]),
    ],
)
def test_chunks_of_the_same_topics_without_a_gap(known: dict[int, ChunkPlace], wanted: Ids, numbers: list[int]) -> None:
    assert list(find_chain(known, wanted)) == numbers


def test_chunks_that_contradict_each_other_are_no_map() -> None:
    known = chunks(NEW, NEW, NEW)
    known[1] = known[1]._replace(span=Span(25, 12, 29, 14))
    assert list(find_chain(known, NEW)) == [2]


@pytest.mark.parametrize(
    ("before", "now", "order"),
    [
        ({0: 0, 1: 30}, {0: 0, 1: 30, 2: 60}, [2, 1, 0]),
        ({0: 0, 1: 30, 2: 60}, {0: 0, 1: 25, 2: 55}, [2, 1, 0]),  # each gives its last run to the next one
        ({0: 0, 1: 30, 2: 60}, {0: 0, 1: 35, 2: 65}, [0, 1, 2]),  # each gives its first run to the one before
        ({0: 0, 1: 30}, {0: 0, 1: None}, [0, 1]),
        ({0: 0, 1: 30, 2: 60}, {0: 0, 1: 35, 2: 55}, [2, 0, 1]),
    ],
)
def test_who_takes_runs_over_is_written_before_who_gives_them_away(
    before: dict[int, int], now: dict[int, int | None], order: list[int]
) -> None:
    spans = {number: span(source) for number, source in before.items()}
    assert order_changes(spans, {n: None if source is None else span(source) for n, source in now.items()}) == order


def span(source: int) -> Span:
    return Span(source, source, source + 1, source + 1)
