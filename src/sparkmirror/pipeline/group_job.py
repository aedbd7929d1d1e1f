"""Tasks for consumer groups as a Spark job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkmirror.errors import SetupError
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.pipeline.session import GROUPS_POOL
from sparkmirror.pipeline.strongbox import unseal


def run_group_job(spark: SparkSession, tasks: Sequence[GroupTask]) -> list[GroupReport]:
    """One Spark task each; blocks until all are done. SetupError: Spark gave up one of them."""
    context = spark.sparkContext
    context.setLocalProperty("spark.scheduler.pool", GROUPS_POOL)
    context.setJobDescription(f"consumer groups of {tasks[0].flow}")
    try:
        answers = context.parallelize([task.to_json() for task in tasks], len(tasks)).map(_run).collect()
    except (Py4JError, PySparkException, OSError) as error:
        raise SetupError(f"Spark could not run their tasks: {next(iter(str(error).splitlines()), '')}") from error
    return [GroupReport(*report) for answer in answers for report in json.loads(answer)]


def _run(text: str) -> str:
    from sparkmirror.groups.work import run_task  # noqa: PLC0415 - in tasks alone

    task = GroupTask.from_json(text)
    return json.dumps(run_task(replace(task, source=unseal(task.source), target=unseal(task.target))))
