"""Configurations of a flow's remote topics kept as the source's, but for what somebody set there by hand.

What is written is remembered before and after in the claim topic, so that it is known to the next driver whatever
becomes of this one; the same of what was found to be set by hand (see `topology/known_configs`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sparkmirror.control.discovery import Landscape, Place, pick_leaders
from sparkmirror.control.flow_tools import FlowTools
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import read_ids
from sparkmirror.offsets.topic_memory import TopicConfigs
from sparkmirror.sync.configs import ConfigSync
from sparkmirror.sync.topics import left_out_text
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.select import TopicPair
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.topic_configs import CLEANUP_POLICY, ConfigChanges, kept_text, name_value

log = logging.getLogger("sparkmirror.upkeep")

GetStanding = Callable[[Place], Standing | None]
Changes = Mapping[str, ConfigChanges]


@dataclass(frozen=True, slots=True)
class _Look:
    """What a run is about: source topic -> remote topic, the ids of both, and both clusters as they were seen."""

    pairs: Sequence[TopicPair]
    remotes: Mapping[str, str]
    ids: Mapping[str, TopicIds]
    seen: tuple[Metadata, Metadata]


class ConfigUpkeep:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(self, tools: FlowTools) -> None:
        self._tools = tools
        self._sync = ConfigSync(tools.flow, tools.source, tools.target)

    def sync(self, landscape: Landscape, seen: tuple[Metadata, Metadata], standing: GetStanding) -> bool:
        """Whether all that differed was written; not if something must wait for the copy."""
        pairs = [pair for pair in landscape.pairs if pair.present and not pair.is_shared]
        remotes = {pair.topic: pair.remote for pair in pairs}
        look = _Look(pairs, remotes, read_ids(remotes, *seen), seen)
        target_ids = {remotes[topic]: both.target for topic, both in look.ids.items()}
        source_ids = {topic: both.source for topic, both in look.ids.items()}
        known = {remote: self._tools.claims.memory.configs_of(remote, id_) for remote, id_ in target_ids.items()}
        changes, refused = self._sync.plan(remotes, known.__getitem__, source_ids)
        for error in refused:
            self._tools.say(str(error), str(error))
        changes = self._leave_others(changes, known, look)
        self._tell(changes)
        held = self._find_early_compaction(changes, look, standing)
        changes = {r: change.without(CLEANUP_POLICY) if r in held else change for r, change in changes.items()}
        self._apply(changes, known, target_ids)
        return not held

    def _tell(self, changes: Changes) -> None:
        source, target = self._tools.flow.source.alias, self._tools.flow.target.alias
        for remote, change in changes.items():
            left_out = left_out_text(change, target)
            self._tools.say(f"configurations of {remote}", left_out and f"topic {remote}: {left_out}")
            kept = "; ".join(kept_text(name, *values, source) for name, values in change.kept.items())
            self._tools.say(f"by hand {remote}", kept and f"topic {remote}: {kept}", logging.INFO)

    def _leave_others(
        self, changes: Changes, known: Mapping[str, KnownConfigs], look: _Look
    ) -> dict[str, ConfigChanges]:
        """Not those of a topic that was made anew: a shorter retention would remove the copy of the old one.

        Nor those of one that holds other records, too: it would remove these.
        """
        news = {remote for remote, change in changes.items() if change or change.known != known[remote]}
        asked = {topic: remote for topic, remote in look.remotes.items() if remote in news}
        others = self._tools.guard.find_others(asked, look.ids)
        for topic, why in others.items():
            said = f"topic {asked[topic]} keeps its configurations: {why}"
            self._tools.say(f"other {asked[topic]}", said)
        mixed = self._find_mixed(look) if asked else {}
        for remote in mixed.keys() & news:
            said = f"topic {remote} keeps its configurations: {mixed[remote]}"
            self._tools.say(f"other {remote}", said, logging.INFO)
        held = {asked[topic] for topic in others} | mixed.keys()
        return {remote: change for remote, change in changes.items() if remote not in held}

    def _find_mixed(self, look: _Look) -> dict[str, str]:
        """With names that stay both ways either side's are for all records; and MirrorMaker 2 asks nobody."""
        if self._tools.flow.naming.is_mutual or self._tools.flow.sync.configs_strict:
            return {}
        return self._tools.find_mixed(look.pairs, look.ids)

    def _apply(self, changes: Changes, known: Mapping[str, KnownConfigs], ids: Mapping[str, str]) -> None:
        """What is about to be written is remembered before, and what was after: so the two are told from each other."""
        begun = {remote: change.known.beginning(change.values) for remote, change in changes.items()}
        self._remember(begun, known, ids)
        self._tools.guard.require_lead()
        refused = self._sync.apply(changes)
        for remote, error in refused.items():
            self._tools.say(f"change of {remote}", str(error))
        done = {remote: change for remote, change in changes.items() if change and remote not in refused}
        for remote, change in done.items():
            said = ", ".join(name_value(name, value) for name, value in change.values.items())
            log.info("flow %s: topic %s: %s", self._tools.flow.name, remote, said)
        self._remember({remote: c.known.having(c.values) for remote, c in done.items()}, begun, ids)

    def _remember(
        self, known: Mapping[str, KnownConfigs], before: Mapping[str, KnownConfigs], ids: Mapping[str, str]
    ) -> None:
        news = {remote: each for remote, each in known.items() if each != before[remote]}
        if news:
            self._tools.guard.require_lead()
            self._tools.claims.note_configs({remote: TopicConfigs(ids[remote], each) for remote, each in news.items()})

    def _find_early_compaction(self, changes: Changes, look: _Look, standing: GetStanding) -> set[str]:
        """Not before the copy has filled the log up to the source's start: a compacted topic takes no filler."""
        wanted = {remote for remote, change in changes.items() if "compact" in change.set.get(CLEANUP_POLICY, "")}
        places = {
            (topic, number): (remote, number)
            for topic, remote in look.remotes.items()
            if remote in wanted and self._tools.flow.offsets_preserve != "never"
            for number in look.seen[0].topics[topic].leaders
        }
        starts = list_offsets(self._tools.source, pick_leaders(look.seen[0], places), EARLIEST)
        ends = list_offsets(self._tools.target, pick_leaders(look.seen[1], places.values()), LATEST)
        return {
            remote[0]
            for place, remote in places.items()
            if ends.get(remote, 0) < starts.get(place, 0) and not ((known := standing(place)) and known.translated)
        }
