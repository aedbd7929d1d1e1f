"""From the bytes of a fetch to columns: each batch that holds records to read, decompressed and decoded."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from sparkmirror.batch import scan
from sparkmirror.batch.codec import decompress
from sparkmirror.batch.columns import CREATE_TIME, SCHEMA, decode_records
from sparkmirror.batch.damage import refuse_if_damaged
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.legacy import read_legacy_records

_CODEC, _LOG_APPEND_TIME = 0x07, 0x08


def decode_fetch(records: memoryview, found: scan.Scan, position: int, end: int) -> Iterator[pa.RecordBatch]:
    """The records with offsets in `position..end`, in the order of the log; one of `found`'s batches at a time."""
    for row in found.rows:
        if row[scan.KIND] == scan.HOLE:
            continue
        here = records[row[scan.START] : row[scan.AFTER]]
        if row[scan.KIND] == scan.LEGACY:
            batch = _decode_legacy(here)
        else:
            refuse_if_damaged(here, int(row[scan.FIRST]))
            batch = _decode_batch(records, row.tolist())
        kept = keep_offsets(batch, position, end)
        if kept.num_rows:
            yield kept


def keep_offsets(batch: pa.RecordBatch, first: int, end: int) -> pa.RecordBatch:
    """The rows of a batch, whose offsets grow, that stand in `first..end`."""
    offsets = offsets_of(batch)
    begin, stop = np.searchsorted(offsets, (first, end)).tolist()
    return batch if stop - begin == batch.num_rows else batch.slice(begin, stop - begin)


def drop_offsets(batch: pa.RecordBatch, offsets: Collection[int]) -> pa.RecordBatch:
    """The rows of a batch that do not stand at these."""
    if not offsets:
        return batch
    return batch.filter(pa.array(~np.isin(offsets_of(batch), np.array(list(offsets), np.int64))))


def offsets_of(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    column = batch.column("offset")
    if not len(column):
        return np.empty(0, np.int64)
    return np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)]


def _decode_batch(records: memoryview, row: list[int]) -> pa.RecordBatch:
    section = decompress(row[scan.ATTRIBUTES] & _CODEC, records[row[scan.START] + HEADER_BYTES : row[scan.AFTER]])
    return decode_records(
        section,
        first=row[scan.FIRST],
        last_delta=row[scan.END] - row[scan.FIRST] - 1,
        count=row[scan.COUNT],
        base_timestamp=row[scan.BASE_TIMESTAMP],
        max_timestamp=row[scan.MAX_TIMESTAMP],
        log_append_time=bool(row[scan.ATTRIBUTES] & _LOG_APPEND_TIME),
    )


def _decode_legacy(messages: memoryview) -> pa.RecordBatch:
    """Plain Python: old formats are rare, and gone from brokers since 4.0."""
    found = list(read_legacy_records(messages))
    columns = [
        [r.offset for r in found],
        [r.timestamp for r in found],
        [CREATE_TIME] * len(found),
        [r.key for r in found],
        [r.value for r in found],
        [None] * len(found),
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
