"""Rights (ACLs) on a flow's remote topics, added as the source's topics have them (see `topology/acls`).

A remote topic gets them if what it holds is the copy of its source topic and nothing else: a reader of that one would
else read what the source never let it read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from sparkmirror.control.address import own_principals
from sparkmirror.control.discovery import Landscape
from sparkmirror.control.flow_tools import FlowTools
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.topics import read_ids
from sparkmirror.sync.acls import AclSync
from sparkmirror.topology.acls import TopicAcls
from sparkmirror.topology.select import TopicPair

log = logging.getLogger("sparkmirror.upkeep")


class RightsUpkeep:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(self, tools: FlowTools) -> None:
        self._tools = tools
        self._sync = AclSync(tools.flow, tools.source, tools.target, own_principals(tools.flow))

    def sync(self, landscape: Landscape, seen: tuple[Metadata, Metadata]) -> None:
        pairs = [pair for pair in landscape.pairs if pair.present]
        memory = self._tools.claims.memory
        plan = self._sync.plan({pair.topic: pair.remote for pair in pairs}, memory.rights_of)
        if plan.unguarded:
            said = f"cluster {plan.unguarded} has no authorizer: no rights (ACLs) are synced"
            self._tools.say("rights", said, logging.INFO)
            return
        news = {
            remote: acls
            for remote, acls in plan.topics.items()
            if acls.missing or acls.known != memory.rights_of(remote)
        }
        held = self._find_held([pair for pair in pairs if pair.remote in news], seen)
        for remote, why in held.items():
            said = f"topic {remote} keeps its rights (ACLs): {why}" if news[remote].missing else ""
            self._tools.say(f"rights of {remote}", said)
        self._apply({remote: acls for remote, acls in news.items() if remote not in held})

    def _find_held(self, pairs: list[TopicPair], seen: tuple[Metadata, Metadata]) -> dict[str, str]:
        remotes = {pair.topic: pair.remote for pair in pairs}
        ids = read_ids(remotes, *seen)
        others = self._tools.guard.find_others(remotes, ids)
        return self._tools.find_mixed(pairs, ids) | {remotes[topic]: why for topic, why in others.items()}

    def _apply(self, topics: Mapping[str, TopicAcls]) -> None:
        if not topics:
            return
        self._tools.guard.require_lead()
        if added := self._sync.apply(topics):
            log.info("flow %s: %d rights (ACLs) added", self._tools.flow.name, added)
        known = {remote: acls.done() for remote, acls in topics.items()}
        self._tools.guard.require_lead()
        self._tools.claims.note_rights(
            {r: each for r, each in known.items() if each != self._tools.claims.memory.rights_of(r)}
        )
