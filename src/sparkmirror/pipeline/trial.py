"""Starts Spark as a run does, and ends it again: does it start, and do its executors have what a task needs?"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import NamedTuple

from py4j.protocol import Py4JJavaError

from sparkmirror.errors import SetupError
from sparkmirror.pipeline.session import start_spark
from sparkmirror.pipeline.workspace import make_workspace


class Trial(NamedTuple):
    version: str
    master: str


def try_session(settings: Mapping[str, str]) -> Trial:
    """SetupError where it does not start, or a task in Python fails."""
    workspace = make_workspace()
    try:
        spark = start_spark(settings, 1, workspace)
        try:
            spark.sparkContext.parallelize([0], 1).map(_import_copy).collect()
            return Trial(spark.version, spark.sparkContext.master or "")
        except Py4JJavaError as error:
            raise SetupError(f"Spark's executors can't run a task: {_last_line(str(error.java_exception))}") from error
        finally:
            spark.stop()
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _import_copy(_: int) -> str:
    from sparkmirror.pipeline import copy_stage  # noqa: PLC0415 - in the executor

    return copy_stage.__name__


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return lines[-1].strip() if lines else text
