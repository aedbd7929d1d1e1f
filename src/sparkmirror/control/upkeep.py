"""What a leading driver sees to beside the copy: internal topics, configurations, rights, the end of topics.

Each has its own time. What fails is said once and tried again at its next time; the copy goes on meanwhile.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import own_principals
from sparkmirror.control.discovery import Landscape, Place, count_partitions, pick_leaders
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.control.step import admin_step
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.internal_topics import complete_configs
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import delete_topic, topic_ids
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.topic_memory import MadeTopic, SetConfigs
from sparkmirror.sync.acls import AclSync
from sparkmirror.sync.configs import ConfigSync
from sparkmirror.sync.deletes import is_gone, plan_deletes
from sparkmirror.sync.internal_topics import why_not_made
from sparkmirror.sync.topics import left_out_text
from sparkmirror.topology.internal_topics import plan_internal_topics
from sparkmirror.topology.select import TopicSelector
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.topic_configs import CLEANUP_POLICY, ConfigChanges

log = logging.getLogger("sparkmirror.upkeep")

GetStanding = Callable[[Place], Standing | None]


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
        self._guard = guard
        self._source = source
        self._target = target
        self._claims = claims
        self._selector = selector
        self._configs = ConfigSync(flow, source, target)
        self._acls = AclSync(flow, source, target, selector, own_principals(flow))
        self._next_configs = self._next_acls = 0.0
        self._said: dict[str, str] = {}
        self._completed: set[str] = set()  # internal topics that have what keeps them small
        self._missed: set[str] = set()  # remote topics whose source was gone at the last look
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
            self._try("rights", lambda: self._sync_acls(landscape, seen[0]))
        deleted: dict[str, str] = {}
        if self._flow.sync.deletes:
            self._try("deletions", lambda: self._sync_deletes(*seen, deleted))
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

    # -- internal topics

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

    # -- configurations

    def _sync_configs(self, landscape: Landscape, seen: tuple[Metadata, Metadata], standing: GetStanding) -> None:
        remotes = {pair.topic: pair.remote for pair in landscape.pairs if pair.present and not pair.is_shared}
        ids = {remote: format_topic_id(seen[1].topics[remote].topic_id) for remote in remotes.values()}
        memory = self._claims.memory
        changes, refused = self._configs.plan(remotes, lambda remote: memory.names_set(remote, ids[remote]))
        for error in refused:
            self._say(str(error), str(error))
        for remote, change in changes.items():
            left_out = left_out_text(change, self._flow.target.alias)
            self._say(f"configurations of {remote}", left_out and f"topic {remote}: {left_out}")
        changes = self._leave_others(changes, remotes)
        self._apply_configs(self._hold_back_compaction(changes, remotes, seen, standing), ids)

    def _leave_others(
        self, changes: Mapping[str, ConfigChanges], remotes: Mapping[str, str]
    ) -> dict[str, ConfigChanges]:
        """Not those of a topic that was made anew: a shorter retention would remove the copy of the old one."""
        others = self._guard.find_others({topic: remote for topic, remote in remotes.items() if changes.get(remote)})
        for topic, why in others.items():
            said = f"topic {remotes[topic]} keeps its configurations: {why}"
            self._say(f"other {remotes[topic]}", said)
        held = {remotes[topic] for topic in others}
        return {remote: change for remote, change in changes.items() if remote not in held}

    def _apply_configs(self, changes: Mapping[str, ConfigChanges], ids: Mapping[str, str]) -> None:
        """What is set is remembered before, what is removed is forgotten after."""
        changes = {remote: change for remote, change in changes.items() if change}
        known = {remote: frozenset(self._claims.memory.names_set(remote, ids[remote])) for remote in changes}
        for remote, change in changes.items():
            self._remember(remote, ids[remote], known[remote], known[remote] | change.set.keys())
        self._guard.require_lead()
        refused = self._configs.apply(changes)
        for remote, change in changes.items():
            if remote in refused:
                self._say(f"change of {remote}", str(refused[remote]))
                continue
            done = [*(f"{name}={value}" for name, value in change.set.items()), *(f"no {n}" for n in change.remove)]
            log.info("flow %s: topic %s: %s", self._flow.name, remote, ", ".join(done))
            all_set = known[remote] | change.set.keys()
            self._remember(remote, ids[remote], all_set, all_set - set(change.remove))

    def _remember(self, remote: str, topic_id: str, before: frozenset[str], names: frozenset[str]) -> None:
        if names != before:
            self._claims.note_configs(remote, SetConfigs(topic_id, names))

    def _hold_back_compaction(
        self,
        changes: Mapping[str, ConfigChanges],
        remotes: Mapping[str, str],
        seen: tuple[Metadata, Metadata],
        standing: GetStanding,
    ) -> dict[str, ConfigChanges]:
        """Not before the copy has filled the log up to the source's start: a compacted topic takes no filler."""
        wanted = {remote for remote, change in changes.items() if "compact" in change.set.get(CLEANUP_POLICY, "")}
        places = {
            (topic, number): (remote, number)
            for topic, remote in remotes.items()
            if remote in wanted and self._flow.offsets_preserve != "never"
            for number in seen[0].topics[topic].leaders
        }
        starts = list_offsets(self._source, pick_leaders(seen[0], places), EARLIEST)
        ends = list_offsets(self._target, pick_leaders(seen[1], places.values()), LATEST)
        held = {
            remote[0]
            for place, remote in places.items()
            if ends.get(remote, 0) < starts.get(place, 0) and not ((known := standing(place)) and known.translated)
        }
        if held:
            self._next_configs = 0.0
        return {r: change.without(CLEANUP_POLICY) if r in held else change for r, change in changes.items()}

    # -- rights

    def _sync_acls(self, landscape: Landscape, here: Metadata) -> None:
        plan = self._acls.plan(count_partitions(here))
        if plan.unguarded:
            said = f"cluster {plan.unguarded} has no authorizer: no rights (ACLs) are synced"
            self._say("rights", said, logging.INFO)
            return
        named = {acl.name for acl in plan.missing}
        remotes = {pair.topic: pair.remote for pair in landscape.pairs if pair.remote in named}
        others = self._guard.find_others(remotes)
        for topic, why in others.items():
            self._say(f"rights of {remotes[topic]}", f"topic {remotes[topic]} keeps its rights (ACLs): {why}")
        held = {remotes[topic] for topic in others}
        self._guard.require_lead()
        plan = replace(plan, missing=tuple(acl for acl in plan.missing if acl.name not in held))
        self._acls.apply(plan)
        if plan.missing:
            log.info("flow %s: %d rights (ACLs) added", self._flow.name, len(plan.missing))

    # -- the end of topics

    def _sync_deletes(self, here: Metadata, there: Metadata, deleted: dict[str, str]) -> None:
        """Only what was gone at the last look, too: by now nobody copies it any more."""
        ids = {topic.name: format_topic_id(topic.topic_id) for topic in there.topics.values()}
        made = self._claims.memory.made_from(here.cluster_id, ids)
        self._note_seen(made, here)
        sources = {remote: one.source for remote, one in made.items()}
        gone = plan_deletes(sources, here.topics.keys(), there.topics.keys(), self._selector)
        due = gone.keys() & self._missed
        kept = self._guard.find_kept({gone[remote]: made[remote].source_id for remote in due})
        for remote in due:
            if why := kept.get(gone[remote]):
                self._say(f"end of {remote}", f"topic {remote} is not deleted, though {gone[remote]} is gone: {why}")
            elif is_gone(self._source, gone[remote], here.cluster_id):
                self._guard.require_lead()
                delete_topic(self._target, remote, ids[remote])
                deleted[gone[remote]] = ids[remote]
                log.info("flow %s: topic %s deleted, as %s is gone", self._flow.name, remote, gone[remote])
        self._missed = set(gone)

    def _note_seen(self, made: Mapping[str, MadeTopic], here: Metadata) -> None:
        """Source topics as they are, for the time when they are gone."""
        ids = topic_ids(here.topics.values())
        news = {
            remote: replace(one, source_id=ids[one.source])
            for remote, one in made.items()
            if ids.get(one.source, one.source_id) != one.source_id
        }
        if news:
            self._guard.require_lead()
            self._claims.note_made(news)
