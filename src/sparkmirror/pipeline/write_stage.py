"""A flow's rows into its target, as a stage of the query: records in, receipts out. Runs in Spark tasks only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext

from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.flow_finder import FlowFinder
from sparkmirror.copy.lease import FENCE_STEP, ROW_ATTEMPTS, Lease
from sparkmirror.copy.receipt import Receipt
from sparkmirror.copy.row_write import RowWrite
from sparkmirror.errors import ConnectionLostError
from sparkmirror.pipeline.connections import shared_cluster, shared_progress
from sparkmirror.pipeline.copy_stage import receipts_to_arrow
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.strongbox import unseal_lease
from sparkmirror.topology.standing import Standing


def write_stage(lease: str, planned_at: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`. `lease` names all of the flow's partitions; a task has rows of some of them."""

    def write_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cord = Cord.to_desk()  # readable when the driver has died: then nothing more may be written
        try:
            for receipts in _write(
                _of_this_task(unseal_lease(Lease.from_json(lease), cord)), batches, cord, planned_at
            ):
                yield receipts_to_arrow(receipts)
        finally:
            cord.close()

    return write_rows


class _Term:
    """For how long a task may write without asking the desk again: as long as the driver is known to lead."""

    def __init__(self, flow: str, cord: Cord) -> None:
        self._flow = flow
        self._cord = cord
        self._ask_at = 0.0

    def lasts(self) -> bool:
        asked_at = time.monotonic()
        if asked_at >= self._ask_at:
            self._ask_at = asked_at + self._cord.term(self._flow) / 2
        return time.monotonic() < self._ask_at


def _of_this_task(lease: Lease) -> Lease:
    """A second attempt fences off the first. One that has no fences fails, and with it the query: the next has some."""
    context = TaskContext.get()
    assert context is not None
    attempt = context.attemptNumber()
    if attempt >= ROW_ATTEMPTS:
        raise ConnectionLostError(f"attempt {attempt + 1} at a task has no fences: the query is to start again")
    fence = lease.fence + attempt * FENCE_STEP
    return replace(lease, lease_id=f"{lease.lease_id}.{context.partitionId()}", fence=fence)


def _write(lease: Lease, batches: Iterator[pa.RecordBatch], cord: Cord, planned_at: float) -> Iterator[list[Receipt]]:
    term = _Term(lease.flow, cord)
    target = shared_cluster(lease.target)
    progress = shared_progress(lease.target, lease.kept_in)

    def note(place: tuple[str, int], standing: Standing) -> None:
        progress.write({place: standing})

    beginner = Beginner(
        target=target,
        producer_id=lease.producer_id,
        preserve=lease.rules.preserve,
        may_write=term.lasts,
        note=note,
    )
    finder = FlowFinder(
        lease,
        shared_cluster(lease.source),
        beginner,
        progress.read_place,
        unguarded_ok=lambda: time.time() - planned_at >= lease.unguarded_wait_s,
    )
    write = RowWrite(lease, target, finder, recall=cord.fileno(), may_write=term.lasts)
    try:
        yield from write.run(iter(batches))
    finally:
        write.close()
