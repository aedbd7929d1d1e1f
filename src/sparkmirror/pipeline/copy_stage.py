"""The copy as a stage of the query: leases in, receipts out. Runs in Spark tasks only."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields

import pyarrow as pa

from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.memory import keep_freed_memory
from sparkmirror.copy.receipt import Receipt
from sparkmirror.pipeline.beating import beating
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.lease_table import WAITING_SHARE
from sparkmirror.pipeline.strongbox import unseal_lease

ROWS_EVERY_S = 10.0  # the desk hears of receipts at once; each batch of rows costs Spark milliseconds
MOST_ROWS = 5_000  # then earlier

_ARROW_TYPES = {"str": pa.string(), "int": pa.int64()}
ARROW_SCHEMA = pa.schema([(f.name, _ARROW_TYPES[str(f.type)]) for f in fields(Receipt)])
RECEIPT_SCHEMA = ", ".join(f"{f.name} {'string' if f.type == 'str' else 'bigint'}" for f in fields(Receipt))


def copy_leases(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow`."""
    for batch in batches:
        for text in batch.column(0).to_pylist():
            for receipts in _run_lease(Lease.from_json(text)):
                yield receipts_to_arrow(receipts)


def _run_lease(lease: Lease) -> Iterator[list[Receipt]]:
    """Wait for the turn, copy, hand the positions on.

    The desk gives a lease to the first attempt that comes for it: a second one copies only where the first died on
    its way there.
    """
    keep_freed_memory()
    cord = Cord.to_desk()
    lease = unseal_lease(lease, cord)
    copy = Copy(lease, cord, note_standing=functools.partial(cord.note, lease.lease_id))
    try:
        if not lease.is_calm:  # else nothing waits for it
            copy.warm_up()
        yield []  # Spark sets up a worker's output at its first rows, which takes long: not while copying
        turn = cord.wait_for_turn(lease.lease_id, WAITING_SHARE * lease.seconds)
        if turn is None:
            return
        with beating(lease.heartbeats):
            yield from gather_receipts(copy.run(turn), ROWS_EVERY_S)
    finally:
        copy.close()
        cord.close()


def gather_receipts(told: Iterable[list[Receipt]], every_s: float) -> Iterator[list[Receipt]]:
    """As they are told, but in one piece for so long, unless these are many; what is left comes at the end."""
    gathered: list[Receipt] = []
    due = time.monotonic() + every_s
    for receipts in told:
        gathered += receipts
        if time.monotonic() >= due or len(gathered) >= MOST_ROWS:
            due = time.monotonic() + every_s
            yield gathered
            gathered = []
    yield gathered


def receipts_to_arrow(receipts: list[Receipt]) -> pa.RecordBatch:
    columns = [[getattr(r, name) for r in receipts] for name in ARROW_SCHEMA.names]
    return pa.record_batch(
        [pa.array(c, t) for c, t in zip(columns, ARROW_SCHEMA.types, strict=True)], schema=ARROW_SCHEMA
    )
