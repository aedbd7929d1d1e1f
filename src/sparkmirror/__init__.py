"""sparkmirror mirrors Apache Kafka clusters: MirrorMaker 2's job on Spark, batch by batch.

The tree reads in the order the data moves: config and topology decide what is mirrored, protocol,
net and batch speak Kafka's wire language, copy moves batches from source to target, pipeline runs
that as a Structured Streaming query, control keeps it going, cli is how a person starts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__version__ = "0.1.0"


def register(spark: SparkSession) -> None:
    """Make topics readable and writable as `format("sparkmirror")` in a Spark session."""
    from sparkmirror.pipeline.record_source import RecordSource  # noqa: PLC0415 - Spark is large, and most need it not

    spark.dataSource.register(RecordSource)
