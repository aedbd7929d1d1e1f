"""Records as Arrow columns and back."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sparkmirror.batch.columns import SCHEMA
from tests.support.records import Record


def to_arrow(records: Sequence[Record], timestamp_type: int = 0) -> pa.RecordBatch:
    """With the schema of a decoded batch: no headers are null."""
    rows = {
        "offset": [r.offset for r in records],
        "timestamp": [r.timestamp for r in records],
        "timestamp_type": [timestamp_type] * len(records),
        "key": [r.key for r in records],
        "value": [r.value for r in records],
        "headers": [[{"key": k.decode(), "value": v} for k, v in r.headers] or None for r in records],
    }
    return pa.RecordBatch.from_pydict(rows, schema=SCHEMA)


def from_arrow(batch: pa.RecordBatch) -> list[Record]:
    return [
        Record(
            row["offset"],
            row["timestamp"],
            row["key"],
            row["value"],
            tuple((h["key"].encode(), h["value"]) for h in row["headers"] or ()),
        )
        for row in batch.to_pylist()
    ]
