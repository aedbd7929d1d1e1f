"""`df.writeStream.format("sparkmirror")`: rows become records of the topic and partition that they name, exactly once.

    task      finds what of its rows is in the target already, appends the rest, notes the micro-batch as written
    commit    sees that no partition's rows came from two tasks

Spark may run a micro-batch again, in part or wholly, after any failure. What was written is known by the target itself
(`copy.sink_position`); Spark's commit adds nothing to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from sparkmirror.errors import ConfigError
from sparkmirror.pipeline.record_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

_WANTED = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "bigint",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
    "timestamp_type": "int",
}
_AS_TEXT = {"key", "value"}
BATCH_KEY, QUERY_KEY = "streaming.sql.batchId", "sql.streaming.queryId"


@dataclass
class Written(WriterCommitMessage):
    """The partitions that a task had rows for."""

    places: tuple[tuple[str, int], ...]


class RecordWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from sparkmirror.copy.sink_position import MicroBatch  # noqa: PLC0415 - in tasks alone
        from sparkmirror.pipeline.sink_task import write_rows  # noqa: PLC0415

        context = TaskContext.get()
        assert context is not None
        now = MicroBatch(
            name=self._options.name,
            query=context.getLocalProperty(QUERY_KEY) or "",
            batch=int(context.getLocalProperty(BATCH_KEY) or -1),
        )
        return Written(write_rows(self._options, now, context.partitionId(), context.attemptNumber(), iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        check_spread([m.places for m in messages if isinstance(m, Written)])


def check_spread(written: list[tuple[tuple[str, int], ...]]) -> None:
    from sparkmirror.copy.facts import spread_rows  # noqa: PLC0415 - when there is one

    for (topic, partition), tasks in Counter(place for places in written for place in places).items():
        if tasks > 1:
            raise spread_rows(f"{topic}-{partition}")


def check_schema(schema: StructType, options: SinkOptions) -> None:
    """Columns by name; those that are not there count as null."""
    given = {field.name: field.dataType.simpleString() for field in schema.fields}
    required = ["topic", "partition", "value", *(["offset"] if options.preserve else [])]
    if missing := [name for name in required if name not in given]:
        raise ConfigError(f"the sink needs the columns {', '.join(required)}; there is no {missing[0]}")
    for name, kind in given.items():
        if name not in _WANTED:
            raise ConfigError(f"the sink has no column {name}: leave it out; it takes {', '.join(_WANTED)}")
        if kind not in (_WANTED[name], "void") and not (name in _AS_TEXT and kind == "string"):
            raise ConfigError(f"the column {name} must be {_WANTED[name]}, not {kind}: cast it")
