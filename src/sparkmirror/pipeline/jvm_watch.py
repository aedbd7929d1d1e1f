"""Ends Spark's JVM when it does not answer any more.

The driver's loop would wait for it without end, and no other driver would take over: this one goes on to say that it
leads.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from typing import Any

from pyspark.sql import SparkSession

log = logging.getLogger("sparkmirror.spark")

LOOK_EVERY_S = 10.0
MOST_LOOKS = 6  # in a row without an answer: time in which this process stood still itself does not count


class JvmWatch:
    """A context manager. It asks the JVM again and again, and looks on another thread whether that goes on."""

    def __init__(self, spark: SparkSession) -> None:
        self._gateway: Any = spark.sparkContext._gateway
        self._has_answered = False
        self._ends = threading.Event()

    def __enter__(self) -> JvmWatch:
        for work in (self._ask, self._look):
            threading.Thread(target=work, name="jvm-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()

    def _ask(self) -> None:
        try:
            while not self._ends.wait(LOOK_EVERY_S):
                self._gateway.jvm.System.nanoTime()
                self._has_answered = True
        except Exception as error:  # it ended: the driver's loop meets that, too
            log.debug("Spark's JVM does not answer: %s", error)
            self._ends.set()

    def _look(self) -> None:
        looks = 0
        while not self._ends.wait(LOOK_EVERY_S):
            looks, self._has_answered = 0 if self._has_answered else looks + 1, False
            if looks >= MOST_LOOKS:
                log.error("Spark's JVM has not answered for %.0f s: it is ended", looks * LOOK_EVERY_S)
                jvm: subprocess.Popen[bytes] = self._gateway.proc
                jvm.kill()
                return
