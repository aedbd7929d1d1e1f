"""The mirror's logical query, as Spark sees it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sparkmirror.copy.receipt import Receipt, from_row
from sparkmirror.pipeline.copy_stage import RECEIPT_SCHEMA, copy_leases
from sparkmirror.pipeline.lease_source import NAME, QUERY, LeaseSource

OBSERVED = "copied"

Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def start_query(spark: SparkSession, name: str, workspace: Path) -> StreamingQuery:
    """Start a query that takes rounds of leases from the desk, which Spark's workers know by their environment.

    The desk hears of each receipt at once, so what is left for Spark to do with them is to sum them up.
    """
    spark.dataSource.register(LeaseSource)
    leases = spark.readStream.format(NAME).option(QUERY, name).load()
    return _start(_observe(leases, copy_leases).writeStream.format("noop"), name, workspace)


def start_receipts(
    rows: DataFrame,
    stage: Stage,
    name: str,
    ledger: Callable[[list[Receipt]], None],
    workspace: Path,
    *,
    every: str | None = None,
) -> StreamingQuery:
    """Start a query of rows that a stage turns into receipts; a micro-batch `every` so long, or as it comes."""

    def take(frame: DataFrame, _batch: int) -> None:
        ledger(collect_receipts(frame))

    written = _observe(rows, stage).writeStream.foreachBatch(take)
    return _start(written.trigger(processingTime=every) if every else written, name, workspace)


def _observe(rows: DataFrame, stage: Stage) -> DataFrame:
    """Receipts of the rows, with their sums in the query's progress."""
    return rows.mapInArrow(stage, RECEIPT_SCHEMA).observe(
        OBSERVED,
        F.sum("records").alias("records"),
        F.sum("bytes").alias("bytes"),
        F.count(F.lit(1)).alias("receipts"),
    )


def _start(written: DataStreamWriter, name: str, workspace: Path) -> StreamingQuery:
    """What Spark keeps of a query is not needed to go on, so its checkpoint folder is a new one each time."""
    folder = tempfile.mkdtemp(prefix=f"{name}-", dir=workspace)
    return written.queryName(name).option("checkpointLocation", folder).start()


def collect_receipts(frame: DataFrame) -> list[Receipt]:
    return [from_row(row) for row in frame.collect()]
