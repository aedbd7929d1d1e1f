"""Keeps the status topic as the ledger has it. The mirror can do without: what fails here is said and passed over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import Place
from sparkmirror.control.log import complaint_level
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.flow")

LOOK_EVERY_S = 10.0


class FactWriter:
    """One flow's. Thread-safe."""

    def __init__(self, flow: FlowConfig, target: Cluster) -> None:
        self._flow = flow.name
        self._topic = FactsTopic(target, Storage.of(flow), flow.status_replication_factor)
        self._lock = threading.Lock()
        self._written: dict[Place, Fact] | None = None
        self._complaint = ""
        self._look_at = 0.0

    def read(self) -> dict[Place, Fact]:
        """The facts that stand there; none if the target refuses the topic. A target that is away is an error."""
        with self._lock:
            try:
                self._topic.ensure()
                self._written = self._topic.read()
            except BrokerError as error:
                self._complain(error)
            return dict(self._written or {})

    def write(self, facts: Mapping[Place, Fact], *, looks: bool = False) -> None:
        """Write what differs. What could not be written differs the next time, too. `looks`: at once whether the topic
        was lost.
        """
        with self._lock:
            self._look_at = 0.0 if looks else self._look_at
            if self._written is None:
                return
            try:
                self._look()
                if news := plan_facts(self._written, facts):
                    self._topic.write(news)
            except SparkmirrorError as error:
                self._complain(error)
                return
            self._written, self._complaint = dict(facts), ""

    def _look(self) -> None:
        """Now and then: facts of a topic that was lost are written anew."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_EVERY_S
            if self._topic.remake_if_lost():
                self._written = {}

    def _complain(self, error: SparkmirrorError) -> None:
        if str(error) != self._complaint:
            self._complaint = str(error)
            log.log(complaint_level(error), "flow %s: facts are not kept in the target: %s", self._flow, error)


def plan_facts(written: Mapping[Place, Fact], facts: Mapping[Place, Fact]) -> dict[Place, Fact | None]:
    """What to write so that the topic says the same; `None` where a fact is over."""
    over: dict[Place, Fact | None] = dict.fromkeys(written.keys() - facts.keys())
    return over | {place: fact for place, fact in facts.items() if written.get(place) != fact}
