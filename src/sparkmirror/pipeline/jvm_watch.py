"""Ends Spark's JVM when it does not answer any more.

The driver's loop would wait for it without end, and no other driver would take over: this one goes on to say that it
leads.
"""

from __future__ import annotations

import logging
import subprocess
import threading

log = logging.getLogger("sparkmirror.spark")

LOOK_EVERY_S = 5.0
MOST_LOOKS = 12  # in a row without a beat: time in which this process stood still itself does not count


class JvmWatch:
    """A context manager around the loop, which beats at each turn."""

    def __init__(self, jvm: subprocess.Popen[bytes]) -> None:
        self._jvm = jvm
        self._has_beaten = False
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jvm-watch", daemon=True)

    def __enter__(self) -> JvmWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()

    def beat(self) -> None:
        self._has_beaten = True

    def _run(self) -> None:
        looks = 0
        while not self._ends.wait(LOOK_EVERY_S):
            looks, self._has_beaten = 0 if self._has_beaten else looks + 1, False
            if looks >= MOST_LOOKS:
                log.error("Spark's JVM has not answered for %.0f s: it is ended", looks * LOOK_EVERY_S)
                self._jvm.kill()
                return
