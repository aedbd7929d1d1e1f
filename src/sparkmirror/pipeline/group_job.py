"""Tasks for consumer groups as a Spark job."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import SparkSession

from sparkmirror.groups.task import GroupReport, GroupTask

POOL = "groups"


def run_group_job(spark: SparkSession, tasks: Sequence[GroupTask]) -> list[GroupReport]:
    """One Spark task each; blocks until all are done."""
    context = spark.sparkContext
    context.setLocalProperty("spark.scheduler.pool", POOL)
    context.setJobDescription(f"consumer groups of {tasks[0].flow}")
    answers = context.parallelize([task.to_json() for task in tasks], len(tasks)).map(_run).collect()
    return [GroupReport(*report) for answer in answers for report in json.loads(answer)]


def _run(text: str) -> str:
    from sparkmirror.groups.work import run_task  # noqa: PLC0415 - in tasks alone

    return json.dumps(run_task(GroupTask.from_json(text)))
