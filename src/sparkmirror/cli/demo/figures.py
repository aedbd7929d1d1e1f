"""Gathers what the table shows, tick by tick, from the probe and the latency watch."""

from __future__ import annotations

import time

from sparkmirror.cli.demo.gauges import Arrivals, Gauge, Row, make_rows
from sparkmirror.cli.demo.stage import Stage
from sparkmirror.cli.demo.topics import TOPICS
from sparkmirror.cli.demo.watch import LatencyWatch

CODECS = {topic.name: topic.codec for topic in TOPICS}


class Figures:
    """From its making on: what was mirrored before is not counted."""

    def __init__(self, stage: Stage) -> None:
        self._probe = stage.probe
        self._watch = LatencyWatch(stage.target, stage.probe.fetch_target())
        self._watch.start()
        self._ends = stage.probe.fetch()
        self._gauges = {topic.name: Gauge() for topic in TOPICS}
        self._last = time.monotonic()

    def update(self) -> None:
        self._ends = self._probe.fetch()
        arrivals = self._watch.take()
        now = time.monotonic()
        for topic in TOPICS:
            self._gauges[topic.name].add(now - self._last, arrivals.get(topic.remote, Arrivals()))
        self._last = now

    def settle(self) -> None:
        """The start is over: what comes from here on counts as the whole."""
        for gauge in self._gauges.values():
            gauge.settle()

    def recent(self) -> list[Row]:
        return make_rows(CODECS, self._ends, {name: gauge.recent() for name, gauge in self._gauges.items()})

    def whole(self) -> list[Row]:
        return make_rows(CODECS, self._ends, {name: gauge.whole() for name, gauge in self._gauges.items()})

    def close(self) -> None:
        self._watch.close()
