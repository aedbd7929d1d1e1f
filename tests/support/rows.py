"""The record way without Spark: a range read as rows and written by a flow's finder, in this process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.flow_finder import FlowFinder
from sparkmirror.copy.lease import FENCE_STEP, Lease, LeasePartition, Rules
from sparkmirror.copy.row_reader import RowReader
from sparkmirror.copy.row_write import RowWrite
from sparkmirror.net.cluster import Cluster
from sparkmirror.pipeline.record_rows import with_place
from sparkmirror.topology.standing import Standing
from tests.support.leases import Copied, address, ends

_FENCES = itertools.count(int(time.time()) % 10_000_000 * 100 + 50, FENCE_STEP)


def read_rows(
    servers: str, topic: str, partition: int, first: int | None, end: int, *, isolation: int, with_notes: bool = True
) -> Iterator[pa.RecordBatch]:
    with Cluster(address(servers)) as cluster:
        for rows in RowReader(cluster, topic, partition, isolation, with_notes=with_notes).read(first, end):
            yield with_place(rows, topic, partition)


def write_flow_rows(
    source: str,
    target: str,
    topic: str,
    producer_id: int,
    *,
    remote: str | None = None,
    first: Mapping[int, int] | None = None,
    hints: Mapping[tuple[str, int], Standing] | None = None,
    rules: Rules | None = None,
    may_write: Callable[[], bool] = lambda: True,
) -> Copied:
    """Each partition from `first` (else its start) up to the source's last stable offset as it is now."""
    rules = rules or Rules()
    stops = ends(source, topic, committed=bool(rules.isolation))
    lease = Lease(
        lease_id="0.test.0",
        flow="A->B",
        source=address(source, "A"),
        target=address(target, "B"),
        producer_id=producer_id,
        fence=next(_FENCES) & 0x7FFFFFFF,
        seconds=20.0,
        partitions=tuple(LeasePartition(topic=topic, partition=p, remote=remote or topic) for p in sorted(stops)),
        rules=rules,
    )
    copied = Copied()
    with Cluster(lease.source) as here, Cluster(lease.target) as there:
        beginner = Beginner(
            target=there,
            producer_id=producer_id,
            preserve=rules.preserve,
            may_write=lambda: True,
            note=copied.noted.__setitem__,
        )
        finder = FlowFinder(lease, here, beginner, (hints or {}).get, lambda: True)
        write = RowWrite(lease, there, finder, may_write=may_write)
        rows = itertools.chain.from_iterable(
            read_rows(source, topic, p, (first or {}).get(p), stop, isolation=rules.isolation)
            for p, stop in sorted(stops.items())
        )
        try:
            for receipts in write.run(rows):
                copied.receipts += receipts
        finally:
            write.close()
        copied.standings = write.standings()
    return copied
