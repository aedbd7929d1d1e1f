"""A range of a partition as rows of the `sparkmirror` format. Runs in tasks, and samples for the planner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sparkmirror.batch.columns import SCHEMA
from sparkmirror.batch.header import split_batches
from sparkmirror.copy.row_reader import RowReader
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import fetch_partition
from sparkmirror.pipeline.record_options import SourceOptions

if TYPE_CHECKING:
    from sparkmirror.pipeline.record_source import RangePartition

# As Spark derives it from the columns' declaration.
ROWS = pa.schema(
    [pa.field("topic", pa.string()), pa.field("partition", pa.int32())] + [f.with_nullable(True) for f in SCHEMA]
)


def read_rows(cluster: Cluster, options: SourceOptions, wanted: RangePartition) -> Iterator[pa.RecordBatch]:
    reader = RowReader(
        cluster,
        wanted.topic,
        wanted.partition,
        options.isolation,
        with_notes=options.with_notes,
        skip_gaps=not options.fail_on_loss,
    )
    for rows in reader.read(wanted.first, wanted.end):
        yield with_place(rows, wanted.topic, wanted.partition)


def with_place(rows: pa.RecordBatch, topic: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    number = np.full(count, partition, np.int32)
    place = [
        pa.repeat(pa.scalar(topic, pa.string()), count),
        pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(number)]),
    ]
    return pa.RecordBatch.from_arrays([*place, *rows.columns], schema=ROWS)


def sample_size(cluster: Cluster, place: tuple[str, int], first: int, max_bytes: int) -> float:
    """Bytes an offset from `first` on; 0 if nothing can be read there."""
    info = cluster.fetch_metadata([place[0]]).topics[place[0]]
    fetched = fetch_partition(cluster, info, place[1], first, max_bytes=max_bytes)
    headers = [header for header, _ in split_batches(fetched.records)]
    offsets = headers[-1].end - headers[0].first if headers else 0
    return len(fetched.records) / offsets if offsets > 0 else 0.0
