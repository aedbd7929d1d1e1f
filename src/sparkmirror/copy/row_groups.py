"""Rows of many partitions, taken apart by topic and partition; each one's stay in their order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkmirror.errors import MirrorError


def split_rows(rows: pa.RecordBatch) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    if not rows.num_rows:
        return
    topic, partition = rows.column("topic"), rows.column("partition")
    if topic.null_count or partition.null_count:
        raise MirrorError("no-place", "a row has no topic or no partition: each must say where it is to be written")
    coded = topic.dictionary_encode()
    names = coded.dictionary.to_pylist()
    topics = _int32s(coded.indices).astype(np.int64)
    keys = (topics << 32) | _int32s(partition)
    for key in np.unique(keys).tolist():
        at = np.flatnonzero(keys == key)
        begin, end = int(at[0]), int(at[-1]) + 1
        whole = end - begin == len(at)
        part = rows.slice(begin, end - begin) if whole else rows.take(pa.array(at.tolist(), pa.int64()))
        yield names[key >> 32], key & 0xFFFFFFFF, part


def _int32s(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    if column.type != pa.int32():
        raise MirrorError("no-place", f"the column partition must be int, not {column.type}")
    return np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column)]
