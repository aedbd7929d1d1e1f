"""A flow's query runs while it should, for the partitions that there are, and begins anew where that helps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import TaskContext

from sparkmirror.control.leadership import next_fence
from sparkmirror.copy.lease import FENCE_STEP, Lease
from sparkmirror.copy.receipt import COPIED, STOPPED, Receipt
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline import records_flow
from sparkmirror.pipeline.records_flow import RecordsFlow
from sparkmirror.pipeline.session import TASK_FAILURES
from sparkmirror.pipeline.write_stage import _of_this_task

ADDRESS = ClusterAddress(alias="A", bootstrap=("a:9092",))
LEASE = Lease(
    lease_id="0", flow="A->B", source=ADDRESS, target=ADDRESS, producer_id=1, fence=0, seconds=1, partitions=()
)
T0, T1 = ("t", 0), ("t", 1)


class Query:
    def __init__(self) -> None:
        self.isActive = True

    def stop(self) -> None:
        self.isActive = False

    def exception(self) -> None:
        return None


class Starts(RecordsFlow):
    """Counts its queries in place of starting them."""

    def __init__(self) -> None:
        spark: Any = SimpleNamespace(dataSource=SimpleNamespace(register=lambda source: None))
        self.taken: list[Receipt] = []
        super().__init__("A->B", spark, self.taken.extend, Path())
        self.started: list[Query] = []

    def _start(self, lease: Lease) -> Any:
        self.started.append(Query())
        return self.started[-1]


def test_a_query_runs_for_exactly_the_partitions_that_there_are() -> None:
    flow = Starts()
    flow.tend([], lambda: LEASE)
    assert flow.started == []
    flow.tend([T0], lambda: None)
    assert flow.started == [], "another driver leads"
    flow.tend([T0], lambda: LEASE)
    flow.tend([T0], lambda: LEASE)
    assert len(flow.started) == 1
    flow.tend([T0, T1], lambda: LEASE)
    assert [q.isActive for q in flow.started] == [False, True]
    flow.tend([], lambda: LEASE)
    assert not flow.started[1].isActive, "the lead was lost"


def test_a_query_that_ended_is_started_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = Starts()
    flow.tend([T0], lambda: LEASE)
    flow.started[0].isActive = False
    flow.tend([T0], lambda: LEASE)
    assert len(flow.started) == 1
    monkeypatch.setattr(flow, "_restart_at", 0.0)
    flow.tend([T0], lambda: LEASE)
    assert len(flow.started) == 2


def test_what_stands_still_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_flow, "RETRY_S", 0.0)
    flow = Starts()
    flow.tend([T0], lambda: LEASE)
    flow._take([Receipt(flow="A->B", topic="t", partition=0, kind=STOPPED, error="gap: ...")])
    flow.tend([T0], lambda: LEASE)
    assert len(flow.started) == 2
    flow._take([Receipt(flow="A->B", topic="t", partition=0, kind=COPIED, target_end=9, stands="[9,8,9]")])
    flow.tend([T0], lambda: LEASE)
    assert len(flow.started) == 2
    assert (flow.hints()[T0].next_offset, len(flow.taken)) == (9, 2)


def test_each_attempt_at_a_task_shuts_out_all_markers_of_those_before_and_of_earlier_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An attempt raises its own fence with each answer that was lost."""
    used: list[int] = []
    last = 0
    for generation in (3, 3, 4, 9):
        fence = next_fence(last, generation, by_rows=True)
        if fence is None:  # the next leader record brings some
            continue
        last = fence
        for attempt in range(TASK_FAILURES):
            context = SimpleNamespace(attemptNumber=lambda number=attempt: number, partitionId=lambda: 0)
            monkeypatch.setattr(TaskContext, "get", lambda now=context: now)
            first = _of_this_task(replace(LEASE, fence=fence)).fence
            used += range(first, first + FENCE_STEP)
    assert len(used) == 3 * TASK_FAILURES * FENCE_STEP
    assert used == sorted(set(used))


def test_an_attempt_that_has_no_fences_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(attemptNumber=lambda: TASK_FAILURES, partitionId=lambda: 0)
    monkeypatch.setattr(TaskContext, "get", lambda: context)
    with pytest.raises(ConnectionLostError, match="attempt"):
        _of_this_task(LEASE)
