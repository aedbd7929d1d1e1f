"""Looks at the source's ends while the keeper of a flow can't: it waits for a cluster that is away, or is halted.

In good times it asks nobody and is not connected.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import pick_leaders
from sparkmirror.control.part import Part
from sparkmirror.control.view import View
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.deadline import deadline
from sparkmirror.net.offsets import LATEST, list_offsets

log = logging.getLogger("sparkmirror.flow")

LOOK_EVERY_S = 1.0
ANSWER_S = 3.0  # so long one look may take
OLD_S = 7.0  # ends that nobody has looked at for so long

Place = tuple[str, int]
Offsets = Mapping[Place, int]


class LagWatch:
    """`take` is told the source's last stable offsets and high watermarks."""

    def __init__(self, flow: FlowConfig, view: View, take: Callable[[Offsets, Offsets], None]) -> None:
        self._flow = flow
        self._view = view
        self._take = take
        self._source: Cluster | None = None  # the last one that was asked
        self._stop = threading.Event()
        self.part = Part(f"lag of {flow.name}", self._run)

    def start(self) -> None:
        self.part.start()

    def end(self) -> None:
        self._stop.set()
        if self._source is not None:
            self._source.end()
        self.part.end(0.2)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            if self._is_due():
                with Cluster(flow_address(self._flow.source, self._flow)) as source:
                    self._source = source
                    while self._is_due() and not self._stop.is_set():
                        with contextlib.suppress(SparkmirrorError):  # the keeper says it
                            self._look(source)
                        self._stop.wait(2 * LOOK_EVERY_S)

    def _is_due(self) -> bool:
        """Whether there is something to look at that the keeper can't look at."""
        is_old = time.monotonic() - self._view.measured_at >= OLD_S
        return bool(self._view.ends) and (is_old or bool(self._view.problem))

    def _look(self, source: Cluster) -> None:
        places = list(self._view.ends or ())
        with deadline(ANSWER_S, "lag"):
            leaders = pick_leaders(source.fetch_metadata(sorted({topic for topic, _ in places})), places)
            stable = list_offsets(source, leaders, LATEST, committed=self._flow.read_committed)
            self._take(stable, list_offsets(source, leaders, LATEST))
