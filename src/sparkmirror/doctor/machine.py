"""Whether this machine can run Spark: found out by starting it, with the file's own `spark.*` keys."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping

from sparkmirror.doctor.verdict import Judge, Verdict
from sparkmirror.embedded.java import find_java
from sparkmirror.errors import SetupError

_JAVA, _SPARK = Judge("machine", "java"), Judge("machine", "spark")
SPARK_DEADLINE_S = 60.0
_CORRECT = "correct the spark.* keys of the file, or see to the Spark cluster"
_INSTALL = "install a JDK of version 17 or later, and put java on the PATH or set JAVA_HOME"


def try_java() -> Verdict:
    try:
        java = find_java("Spark")
    except SetupError as error:
        return _JAVA.fails(str(error), _INSTALL)
    return _JAVA.passes(f"Java {java.major} ({java.path})")


class SparkTrial:
    """On a thread of its own, which is left behind if Spark hangs."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._verdicts: queue.SimpleQueue[Verdict] = queue.SimpleQueue()
        work = threading.Thread(target=lambda: self._verdicts.put(try_spark(settings)), name="spark", daemon=True)
        work.start()

    def result(self) -> Verdict:
        try:
            return self._verdicts.get(timeout=SPARK_DEADLINE_S)
        except queue.Empty:
            return _SPARK.fails(f"Spark did not start within {SPARK_DEADLINE_S:g} s", _CORRECT)


def try_spark(settings: Mapping[str, str]) -> Verdict:
    """A session, and a task in Python: what executors must be able to import is the mirror itself."""
    began = time.monotonic()
    try:
        from sparkmirror.pipeline.trial import try_session  # noqa: PLC0415 - Spark itself may be missing

        tried = try_session(settings)
    except ImportError as error:
        return _SPARK.fails(f"Spark can't be imported: {error}", "install sparkmirror anew, with what it requires")
    except Exception as error:  # Spark and py4j have errors of many kinds, and all of them mean that it does not start
        said = str(error) if isinstance(error, SetupError) else f"Spark can't start: {type(error).__name__}: {error}"
        return _SPARK.fails(said, _CORRECT)
    took_s = time.monotonic() - began
    return _SPARK.passes(f"Spark {tried.version} at {tried.master} started and ran a task within {took_s:.0f} s")
