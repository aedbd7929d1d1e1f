"""Pairs of clusters that no flow joins: only heartbeats are written for them, as MirrorMaker 2 does.

They are what a flow the other way round mirrors: with A->B alone, the heartbeats of B->A stand on A, and A->B shows by
`A.heartbeats` on B that it works. A task of any flow emits them; here it is only seen to that their topics are there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address, writer_address
from sparkmirror.control.part import Part
from sparkmirror.copy.lease import Heartbeat
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.sync.internal_topics import why_not_made
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.internal_topics import plan_heartbeats_topic

log = logging.getLogger("sparkmirror.heartbeats")

RETRY_S = 30.0


class HeartbeatPairs:
    """On a thread of its own, until every topic is there. `changed` is called when one is."""

    def __init__(self, pairs: Sequence[FlowConfig], changed: Callable[[], None]) -> None:
        self._missing = list(pairs)
        self._changed = changed
        self._ready: tuple[Heartbeat, ...] = ()
        self._stop = threading.Event()
        self._said: set[str] = set()
        self.part = Part("heartbeat pairs", self._run)

    def start(self) -> None:
        if self._missing:
            self.part.start()

    def stop(self) -> None:
        self._stop.set()
        self.part.end(0.0)

    @property
    def ready(self) -> tuple[Heartbeat, ...]:
        return self._ready

    def _run(self) -> None:
        while self._missing and not self._stop.is_set():
            for pair in list(self._missing):
                self._prepare(pair)
            self._stop.wait(RETRY_S)

    def _prepare(self, pair: FlowConfig) -> None:
        topic = plan_heartbeats_topic(pair, choose_policy(pair))
        try:
            with Cluster(flow_address(pair.target, pair)) as cluster:
                problem = why_not_made(cluster, cluster.fetch_metadata(), topic)
        except SparkmirrorError as error:
            problem = str(error)
        if problem:
            self._say(f"{pair.name}: no heartbeats: {problem}")
            return
        interval_s = pair.heartbeats.interval_s
        assert interval_s is not None
        heartbeat = Heartbeat(
            source=pair.source.alias, target=writer_address(pair), topic=topic.name, interval_s=interval_s
        )
        self._missing.remove(pair)
        self._ready = (*self._ready, heartbeat)
        self._changed()

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.warning("%s", text)
