"""Rows that are no records: what a reader knows of a log beside its records, on the way to whoever writes it again.

    timestamp_type   the row says
    -1 HOLE          there is no record
    -2 GAP           what stood there was removed before it could be read
    -3 FAULT         it can't be read; `value` says why

Each speaks of the offsets from its `timestamp` up to and with its `offset`. Readers write them only where they are
asked to; a user's query never sees one.
"""

from __future__ import annotations

import pyarrow as pa

from sparkmirror.batch.columns import SCHEMA

HOLE, GAP, FAULT = -1, -2, -3


def note_row(kind: int, first: int, end: int, text: str = "") -> pa.RecordBatch:
    columns = [[end - 1], [first], [kind], [None], [text.encode() or None], [None]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
