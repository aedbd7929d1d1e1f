"""One task of a sink: its rows into the target, and a note in the progress topic that they are there."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.lease import ALWAYS, FENCE_STEP, NEVER, Lease, Rules
from sparkmirror.copy.queue import SEQUENCE_MASK
from sparkmirror.copy.receipt import STOPPED, WAITING
from sparkmirror.copy.row_write import RowWrite
from sparkmirror.copy.sink_finder import SinkFinder
from sparkmirror.copy.sink_position import MicroBatch, check_count
from sparkmirror.errors import ConnectionLostError, MirrorError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline.connections import shared_cluster, sink_topics
from sparkmirror.pipeline.record_options import SinkOptions
from sparkmirror.topology.standing import Standing

PATIENCE_S = 120.0
ATTEMPTS = 8  # more of one micro-batch share a fence

Place = tuple[str, int]


def write_rows(
    options: SinkOptions, now: MicroBatch, task: int, attempt: int, rows: Iterator[pa.RecordBatch]
) -> tuple[Place, ...]:
    """Returns when all rows are in the target; the partitions that they are in."""
    target = shared_cluster(options.address)
    topics = sink_topics(options.address, options.name, options.replication_factor)

    def note(place: Place, standing: Standing) -> None:
        topics.progress.write({place: standing._replace(query=now.query)})

    rules = Rules(preserve=ALWAYS if options.preserve else NEVER)
    beginner = Beginner(
        target=target, producer_id=topics.producer_id, preserve=rules.preserve, may_write=lambda: True, note=note
    )
    finder = SinkFinder(now, beginner, topics.progress.read_place, rules, preserve=options.preserve)
    write = RowWrite(
        _lease(options, now, topics.producer_id, rules, task, attempt), target, finder, codec=options.codec
    )
    try:
        for receipts in write.run(rows):
            for receipt in receipts:
                name, _, said = receipt.error.partition(": ")
                if receipt.kind == STOPPED:
                    raise MirrorError(name, f"{receipt.topic}-{receipt.partition}: {name}: {said}")
                if receipt.kind == WAITING:
                    raise ConnectionLostError(f"{receipt.topic}-{receipt.partition}: {receipt.error}")
        standings = write.standings()
        if not options.preserve:
            for place, end in write.rows_seen().items():
                check_count(f"{place[0]}-{place[1]}", end, standings[place].next_offset, finder.bases[place])
    finally:
        write.close()
    topics.progress.write(
        {
            place: standing._replace(batch=now.batch, batch_first=finder.bases[place], query=now.query)
            for place, standing in standings.items()
        }
    )
    return tuple(standings)


def _lease(options: SinkOptions, now: MicroBatch, producer_id: int, rules: Rules, task: int, attempt: int) -> Lease:
    """A sink has no source cluster. Each attempt at a micro-batch fences off the ones before it."""
    turn = now.batch * ATTEMPTS + min(attempt, ATTEMPTS - 1)
    return Lease(
        lease_id=f"{now.batch}.{options.name}.{task}",
        flow=options.name,
        source=ClusterAddress(alias=options.name, bootstrap=()),
        target=options.address,
        producer_id=producer_id,
        fence=(turn * FENCE_STEP) & SEQUENCE_MASK,
        seconds=PATIENCE_S,
        partitions=(),
        rules=rules,
    )
