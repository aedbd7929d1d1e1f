"""From columns to batches: rows whose `offset` says where they stand become runs, ready to be sealed and appended."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from sparkmirror.batch.codec import compress
from sparkmirror.batch.columns import encode_records, plan_slices
from sparkmirror.batch.decode_fetch import offsets_of
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.rewrite import Run


def build_runs(rows: pa.RecordBatch, *, codec: int, limit: int) -> list[tuple[Run, int]]:
    """Runs of consecutive offsets with at most `limit` bytes before compression, each with its codec."""
    offsets = offsets_of(rows)
    if not len(offsets):
        return []
    breaks = (np.flatnonzero(np.diff(offsets) != 1) + 1).tolist()
    runs = []
    for begin, end in pairwise([0, *breaks, len(offsets)]):
        stretch = rows.slice(begin, end - begin)
        for row, count in plan_slices(stretch, limit - HEADER_BYTES):
            runs.append((_build_run(stretch.slice(row, count), int(offsets[begin + row]), codec), codec))
    return runs


def _build_run(rows: pa.RecordBatch, first: int, codec: int) -> Run:
    section, base_timestamp, max_timestamp = encode_records(rows)
    packed = compress(codec, section) if codec else section
    batch = bytearray(HEADER_BYTES + len(packed))
    batch[HEADER_BYTES:] = packed
    return Run(first, rows.num_rows, base_timestamp, max_timestamp, memoryview(batch))
