"""Configurations of a flow's remote topics kept as the source's, but for what somebody set there by hand.

What is written is remembered before and after in the claim topic, so that it is known to the next driver whatever
becomes of this one; the same of what was found to be set by hand (see `topology/known_configs`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import Landscape, Place, pick_leaders
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import read_ids
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.topic_memory import TopicConfigs
from sparkmirror.sync.configs import ConfigSync
from sparkmirror.sync.topics import left_out_text
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.topic_configs import CLEANUP_POLICY, ConfigChanges, kept_text, name_value

log = logging.getLogger("sparkmirror.upkeep")

GetStanding = Callable[[Place], Standing | None]
Say = Callable[[str, str, int], None]  # about what, the text, a log level
Changes = Mapping[str, ConfigChanges]


@dataclass(frozen=True, slots=True)
class _Look:
    """What a run is about: source topic -> remote topic, the ids of both, and both clusters as they were seen."""

    remotes: Mapping[str, str]
    ids: Mapping[str, TopicIds]
    seen: tuple[Metadata, Metadata]


class ConfigUpkeep:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, claims: Claims, guard: IncarnationGuard, say: Say
    ) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._claims = claims
        self._guard = guard
        self._say = say
        self._sync = ConfigSync(flow, source, target)

    def sync(self, landscape: Landscape, seen: tuple[Metadata, Metadata], standing: GetStanding) -> bool:
        """Whether all that differed was written; not if something must wait for the copy."""
        remotes = {pair.topic: pair.remote for pair in landscape.pairs if pair.present and not pair.is_shared}
        look = _Look(remotes, read_ids(remotes, *seen), seen)
        target_ids = {remotes[topic]: both.target for topic, both in look.ids.items()}
        source_ids = {topic: both.source for topic, both in look.ids.items()}
        known = {remote: self._claims.memory.configs_of(remote, id_) for remote, id_ in target_ids.items()}
        changes, refused = self._sync.plan(remotes, known.__getitem__, source_ids)
        for error in refused:
            self._say(str(error), str(error), logging.WARNING)
        changes = self._leave_others(changes, known, look)
        self._tell(changes)
        held = self._find_early_compaction(changes, look, standing)
        changes = {r: change.without(CLEANUP_POLICY) if r in held else change for r, change in changes.items()}
        self._apply(changes, known, target_ids)
        return not held

    def _tell(self, changes: Changes) -> None:
        source, target = self._flow.source.alias, self._flow.target.alias
        for remote, change in changes.items():
            left_out = left_out_text(change, target)
            self._say(f"configurations of {remote}", left_out and f"topic {remote}: {left_out}", logging.WARNING)
            kept = "; ".join(kept_text(name, *values, source) for name, values in change.kept.items())
            self._say(f"by hand {remote}", kept and f"topic {remote}: {kept}", logging.INFO)

    def _leave_others(
        self, changes: Changes, known: Mapping[str, KnownConfigs], look: _Look
    ) -> dict[str, ConfigChanges]:
        """Not those of a topic that was made anew: a shorter retention would remove the copy of the old one."""
        news = {remote for remote, change in changes.items() if change or change.known != known[remote]}
        asked = {topic: remote for topic, remote in look.remotes.items() if remote in news}
        others = self._guard.find_others(asked, look.ids)
        for topic, why in others.items():
            said = f"topic {asked[topic]} keeps its configurations: {why}"
            self._say(f"other {asked[topic]}", said, logging.WARNING)
        held = {asked[topic] for topic in others}
        return {remote: change for remote, change in changes.items() if remote not in held}

    def _apply(self, changes: Changes, known: Mapping[str, KnownConfigs], ids: Mapping[str, str]) -> None:
        """What is about to be written is remembered before, and what was after: so the two are told from each other."""
        begun = {remote: change.known.beginning(change.values) for remote, change in changes.items()}
        self._remember(begun, known, ids)
        self._guard.require_lead()
        refused = self._sync.apply(changes)
        for remote, error in refused.items():
            self._say(f"change of {remote}", str(error), logging.WARNING)
        done = {remote: change for remote, change in changes.items() if change and remote not in refused}
        for remote, change in done.items():
            said = ", ".join(name_value(name, value) for name, value in change.values.items())
            log.info("flow %s: topic %s: %s", self._flow.name, remote, said)
        self._remember({remote: c.known.having(c.values) for remote, c in done.items()}, begun, ids)

    def _remember(
        self, known: Mapping[str, KnownConfigs], before: Mapping[str, KnownConfigs], ids: Mapping[str, str]
    ) -> None:
        news = {remote: each for remote, each in known.items() if each != before[remote]}
        if news:
            self._guard.require_lead()
            self._claims.note_configs({remote: TopicConfigs(ids[remote], each) for remote, each in news.items()})

    def _find_early_compaction(self, changes: Changes, look: _Look, standing: GetStanding) -> set[str]:
        """Not before the copy has filled the log up to the source's start: a compacted topic takes no filler."""
        wanted = {remote for remote, change in changes.items() if "compact" in change.set.get(CLEANUP_POLICY, "")}
        places = {
            (topic, number): (remote, number)
            for topic, remote in look.remotes.items()
            if remote in wanted and self._flow.offsets_preserve != "never"
            for number in look.seen[0].topics[topic].leaders
        }
        starts = list_offsets(self._source, pick_leaders(look.seen[0], places), EARLIEST)
        ends = list_offsets(self._target, pick_leaders(look.seen[1], places.values()), LATEST)
        return {
            remote[0]
            for place, remote in places.items()
            if ends.get(remote, 0) < starts.get(place, 0) and not ((known := standing(place)) and known.translated)
        }
