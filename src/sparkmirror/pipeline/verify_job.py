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

from sparkmirror.copy.memory import keep_freed_memory
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


def start_workers(spark: SparkSession, slots: int) -> None:
    """Python's workers start with their first task, and load what a comparison needs: seconds that belong to Spark's
    start. SetupError: it can't.
    """
    try:
        spark.sparkContext.parallelize(range(slots), slots).foreach(_warm_up)
    except (Py4JError, PySparkException, OSError) as error:
        raise _failed(error) from error


def _warm_up(_: int) -> None:
    from sparkmirror.batch.warm import warm_up_comparison  # noqa: PLC0415 - in tasks alone
    from sparkmirror.verify import work as _work  # noqa: PLC0415, F401

    keep_freed_memory()
    warm_up_comparison()


def _failed(error: Exception) -> SetupError:
    return SetupError(f"Spark could not run the comparison: {next(iter(str(error).splitlines()), '')}")


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
        raise _failed(failed[0])
    return [VerifyResult.from_json(answer) for answer in answers]


def _run(text: str, sums: list[Accumulator[int]]) -> str:
    from sparkmirror.verify.work import run_task  # noqa: PLC0415 - in tasks alone

    task = VerifyTask.from_json(text)
    result = run_task(replace(task, source=unseal(task.source), target=unseal(task.target)))
    for total, more in zip(sums, Done(1, result.offsets, result.bytes, result.differences), strict=True):
        total.add(more)
    return result.to_json()
