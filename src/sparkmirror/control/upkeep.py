"""What a leading driver sees to beside the copy: internal topics, configurations, rights, the end of topics.

Each has its own time. What fails is said once and tried again at its next time; the copy goes on meanwhile.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.config_upkeep import ConfigUpkeep, GetStanding
from sparkmirror.control.discovery import Landscape
from sparkmirror.control.flow_tools import FlowTools
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.control.rights_upkeep import RightsUpkeep
from sparkmirror.control.step import admin_step
from sparkmirror.control.topic_ends import TopicEnds
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.internal_topics import complete_configs
from sparkmirror.offsets.claims import Claims
from sparkmirror.sync.internal_topics import why_not_made
from sparkmirror.topology.internal_topics import plan_internal_topics
from sparkmirror.topology.select import TopicSelector

log = logging.getLogger("sparkmirror.upkeep")


class Upkeep:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(
        self,
        flow: FlowConfig,
        source: Cluster,
        target: Cluster,
        claims: Claims,
        selector: TopicSelector,
        guard: IncarnationGuard,
    ) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._selector = selector
        tools = FlowTools(
            flow=flow, source=source, target=target, claims=claims, selector=selector, guard=guard, say=self._say
        )
        self._configs, self._rights, self._ends = ConfigUpkeep(tools), RightsUpkeep(tools), TopicEnds(tools)
        self._next_configs = self._next_acls = 0.0
        self._said: dict[str, str] = {}
        self._completed: set[str] = set()  # internal topics that have what keeps them small
        self.has_heartbeats = False

    def tend(self, landscape: Landscape, seen: tuple[Metadata, Metadata], standing: GetStanding) -> dict[str, str]:
        """Do what is due. Returns the remote topics that were deleted, with their ids."""
        now = time.monotonic()
        self._try("internal topics", lambda: self._make_internal_topics(*seen))
        if self._flow.sync.configs_interval_s is not None and now >= self._next_configs:
            self._next_configs = now + self._flow.sync.configs_interval_s
            self._try("configurations", lambda: self._sync_configs(landscape, seen, standing))
        if self._flow.sync.acls_interval_s is not None and now >= self._next_acls:
            self._next_acls = now + self._flow.sync.acls_interval_s
            self._try("rights", lambda: self._rights.sync(landscape, seen))
        deleted: dict[str, str] = {}
        if self._flow.sync.deletes:
            self._try("deletions", lambda: self._ends.sync(*seen, deleted))
        return deleted

    def due_in_s(self) -> float:
        """Until configurations or rights are to be looked at again; endless where neither is."""
        sync = self._flow.sync
        times = ((sync.configs_interval_s, self._next_configs), (sync.acls_interval_s, self._next_acls))
        return max(0.0, min((at for every, at in times if every is not None), default=math.inf) - time.monotonic())

    def _try(self, what: str, work: Callable[[], None]) -> None:
        try:
            with admin_step(self._flow):
                work()
        except SparkmirrorError as error:
            self._say(what, str(error))

    def _say(self, about: str, text: str, level: int = logging.WARNING) -> None:
        """Once, until there is something else to say about it."""
        if text and self._said.get(about) != text:
            log.log(level, "flow %s: %s", self._flow.name, text)
        self._said[about] = text

    def _make_internal_topics(self, here: Metadata, there: Metadata) -> None:
        policy = self._selector.policy
        for topic in plan_internal_topics(self._flow, policy):
            cluster, metadata = (self._source, here) if topic.on_source else (self._target, there)
            problem = why_not_made(cluster, metadata, topic)
            self._say(topic.name, problem)
            if topic.name in metadata.topics and topic.name not in self._completed:
                complete_configs(cluster, topic.name, topic.configs)
                self._completed.add(topic.name)
            if topic.name == policy.heartbeats_topic():
                self.has_heartbeats = not problem

    def _sync_configs(self, landscape: Landscape, seen: tuple[Metadata, Metadata], standing: GetStanding) -> None:
        if not self._configs.sync(landscape, seen, standing):
            self._next_configs = 0.0
