"""Which offsets of both sides are compared, and how they are dealt out to tasks."""

from __future__ import annotations

import pytest

from sparkmirror.control.verify_plan import find_range
from sparkmirror.control.verify_split import SAMPLE_OFFSETS, SMALLEST_PIECE, sample_tasks, split_tasks
from sparkmirror.net.address import ClusterAddress
from sparkmirror.offsets.offset_map import OffsetMap, equal_map
from sparkmirror.offsets.runs import Chunk, span_of
from sparkmirror.topology.run import Run
from sparkmirror.topology.storage import Storage
from sparkmirror.verify.task import VerifyTask

CLUSTER = ClusterAddress(alias="a", bootstrap=("127.0.0.1:1",))


def mapped(*runs: Run, source_end: int, target_end: int, begins_known: bool = True) -> OffsetMap:
    chunk = Chunk.of(runs)
    return OffsetMap(
        equal_end=0,
        source_end=source_end,
        target_end=target_end,
        spans=[span_of(chunk)],
        load=lambda _: chunk,
        begins_known=begins_known,
    )


def task(end: int, *, by_key: bool = False) -> VerifyTask:
    return VerifyTask(
        flow="a->b",
        source=CLUSTER,
        target=CLUSTER,
        storage=Storage.named("a"),
        topic="t",
        partition=0,
        remote="a.t",
        onto=0,
        first=0,
        end=end,
        target_first=0,
        target_end=end,
        by_key=by_key,
    )


@pytest.mark.parametrize(
    ("known", "wanted", "source_end", "target", "expected"),
    [
        pytest.param(equal_map(100), 0, 120, (0, 100), (0, 100, 0, 100, 0), id="the source has more"),
        pytest.param(equal_map(100), 40, 100, (0, 100), (40, 100, 40, 100, 0), id="the source begins later"),
        pytest.param(equal_map(100), 0, 100, (30, 100), (30, 100, 30, 100, 0), id="the target begins later"),
        pytest.param(equal_map(100), 0, 100, (0, 80), (0, 100, 0, 80, 0), id="the target lost records"),
        pytest.param(equal_map(100), 0, 60, (0, 100), (0, 60, 0, 100, 0), id="the source was cut back"),
        pytest.param(equal_map(100), 150, 200, (0, 100), (100, 100, 100, 100, 0), id="nothing is mirrored of it"),
        pytest.param(
            mapped(Run(10, 50, 20), source_end=30, target_end=70), 0, 40, (0, 70), (0, 30, 50, 70, 0), id="translated"
        ),
        pytest.param(
            mapped(Run(10, 50, 20), source_end=30, target_end=70),
            0,
            40,
            (55, 70),
            (15, 30, 55, 70, 0),
            id="translated, the target begins later",
        ),
        pytest.param(
            mapped(Run(10, 50, 20), source_end=30, target_end=70, begins_known=False),
            4,
            40,
            (0, 70),
            (10, 30, 50, 70, 6),
            id="somebody else copied the beginning",
        ),
    ],
)
def test_compared_is_what_both_sides_have(
    known: OffsetMap, wanted: int, source_end: int, target: tuple[int, int], expected: tuple[int, ...]
) -> None:
    assert find_range(known, wanted, source_end, target) == expected


def test_a_large_partition_is_cut_into_ranges_that_meet() -> None:
    whole = task(40 * SMALLEST_PIECE)
    pieces = sorted(split_tasks([(whole, equal_map(whole.end))], 2), key=lambda piece: piece.first)
    assert len(pieces) > 4
    assert [piece.end for piece in pieces[:-1]] == [piece.first for piece in pieces[1:]]
    assert (pieces[0].first, pieces[-1].end, pieces[-1].target_end) == (0, whole.end, whole.end)
    assert split_tasks([(task(whole.end, by_key=True), equal_map(whole.end))], 2) == [task(whole.end, by_key=True)]


def test_random_stretches_are_those_of_their_seed() -> None:
    whole = task(1_000_000)
    known = equal_map(whole.end)
    stretches = sample_tasks([(whole, known)], 3, seed=5)
    assert [each.end - each.first for each in stretches] == [SAMPLE_OFFSETS] * 3
    assert all(each.first == each.target_first and each.end == each.target_end for each in stretches)
    assert stretches == sample_tasks([(whole, known)], 3, seed=5)
    assert stretches != sample_tasks([(whole, known)], 3, seed=6)
    small = task(SAMPLE_OFFSETS)
    assert sample_tasks([(small, equal_map(small.end))], 3, seed=5) == [small]


def test_a_task_crosses_as_it_is() -> None:
    assert VerifyTask.from_json(task(7).to_json()) == task(7)
