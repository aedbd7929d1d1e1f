"""Spark's own figures of the mirror: the sums that `observe()` puts into each query's progress."""

from __future__ import annotations

import threading

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from sparkmirror.pipeline.query import OBSERVED

_NAMES = ("records", "bytes", "receipts")


class Figures(StreamingQueryListener):
    """Adds up what Spark observed, over all micro-batches of all queries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums = dict.fromkeys(_NAMES, 0)

    def sums(self) -> dict[str, int]:
        with self._lock:
            return dict(self._sums)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        observed = event.progress.observedMetrics.get(OBSERVED)
        if observed is None:
            return
        with self._lock:
            for name in _NAMES:
                self._sums[name] += observed[name] or 0
