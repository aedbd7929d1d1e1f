"""A comparison as a Spark job: one task a range, and how far they are meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark import Accumulator
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkmirror.errors import SetupError
from sparkmirror.pipeline.strongbox import unseal
from sparkmirror.verify.task import VerifyResult, VerifyTask

LOOK_EVERY_S = 0.5


class Done(NamedTuple):
    """What tasks that have ended did together."""

    tasks: int = 0
    offsets: int = 0
    bytes: int = 0
    differences: int = 0


def run_verify_job(
    spark: SparkSession, tasks: Sequence[VerifyTask], on_progress: Callable[[Done], None]
) -> list[VerifyResult]:
    """Blocks until all are done. SetupError: Spark gave up one of them."""
    context = spark.sparkContext
    sums = [context.accumulator(0) for _ in Done._fields]
    answers: list[str] = []
    failed: list[Exception] = []

    def work() -> None:
        context.setJobDescription(f"verify {tasks[0].flow}")
        try:
            rows = context.parallelize([task.to_json() for task in tasks], len(tasks))
            answers.extend(rows.map(lambda text: _run(text, sums)).collect())
        except (Py4JError, PySparkException, OSError) as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="verify job", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_EVERY_S)
        on_progress(Done(*(each.value for each in sums)))
    if failed:
        raise SetupError(f"Spark could not run the comparison: {next(iter(str(failed[0]).splitlines()), '')}")
    return [VerifyResult.from_json(answer) for answer in answers]


def _run(text: str, sums: list[Accumulator[int]]) -> str:
    from sparkmirror.verify.work import run_task  # noqa: PLC0415 - in tasks alone

    task = VerifyTask.from_json(text)
    result = run_task(replace(task, source=unseal(task.source), target=unseal(task.target)))
    for total, more in zip(sums, Done(1, result.offsets, result.bytes, result.differences), strict=True):
        total.add(more)
    return result.to_json()
