"""A user's Spark session, in a process of its own: what it sees and what it is told, as JSON in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

import sparkmirror


def main(source: str, target: str, topic: str, folder: str) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    sparkmirror.register(spark)
    here = {"kafka.bootstrap.servers": source, "subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    frame = spark.read.format("sparkmirror").options(**here).load()
    found: dict[str, Any] = {
        "schema": frame.schema.simpleString(),
        "rows": [
            [row.partition, row.offset, row.timestamp, row.value.decode()]
            for row in frame.orderBy("partition", "offset").collect()
        ],
    }
    stream = spark.readStream.format("sparkmirror").options(**here).load()
    jobs = {
        "spread": (stream.withColumn("partition", F.lit(0)), {}),
        "preserved": (stream.where("offset % 2 = 1"), {"offsets.preserve": "true"}),
        "unnamed": (stream, {"name": ""}),
    }
    for name, (rows, options) in jobs.items():
        sink = {"kafka.bootstrap.servers": target, "name": f"{topic}-{name}", "checkpointLocation": f"{folder}/{name}"}
        renamed = rows.withColumn("topic", F.lit(f"{topic}-{name}"))
        try:
            renamed.writeStream.format("sparkmirror").options(**(sink | options)).trigger(
                availableNow=True
            ).start().awaitTermination()
            found[name] = "written"
        except PySparkException as error:
            found[name] = str(error)
    Path(folder, "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
