"""Rights (ACLs) on a flow's remote topics, added as the source's topics have them (see `topology/acls`).

A remote topic gets them if what it holds is the copy of its source topic and nothing else: a reader of that one would
else read what the source never let it read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import own_principals
from sparkmirror.control.discovery import Landscape
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.topics import read_ids
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.topic_memory import TopicMemory
from sparkmirror.sync.acls import AclSync
from sparkmirror.topology.acls import TopicAcls
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.select import TopicPair, TopicSelector

log = logging.getLogger("sparkmirror.upkeep")

Say = Callable[[str, str, int], None]  # about what, the text, a log level


class RightsUpkeep:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(
        self,
        flow: FlowConfig,
        clusters: tuple[Cluster, Cluster],
        claims: Claims,
        selector: TopicSelector,
        guard: IncarnationGuard,
        say: Say,
    ) -> None:
        self._flow = flow
        self._claims = claims
        self._selector = selector
        self._guard = guard
        self._say = say
        self._sync = AclSync(flow, *clusters, own_principals(flow))

    def sync(self, landscape: Landscape, seen: tuple[Metadata, Metadata]) -> None:
        pairs = [pair for pair in landscape.pairs if pair.present]
        memory = self._claims.memory
        plan = self._sync.plan({pair.topic: pair.remote for pair in pairs}, memory.rights_of)
        if plan.unguarded:
            said = f"cluster {plan.unguarded} has no authorizer: no rights (ACLs) are synced"
            self._say("rights", said, logging.INFO)
            return
        news = {
            remote: acls
            for remote, acls in plan.topics.items()
            if acls.missing or acls.known != memory.rights_of(remote)
        }
        held = self._find_held([pair for pair in pairs if pair.remote in news], seen)
        for remote, why in held.items():
            said = f"topic {remote} keeps its rights (ACLs): {why}" if news[remote].missing else ""
            self._say(f"rights of {remote}", said, logging.WARNING)
        self._apply({remote: acls for remote, acls in news.items() if remote not in held})

    def _find_held(self, pairs: list[TopicPair], seen: tuple[Metadata, Metadata]) -> dict[str, str]:
        remotes = {pair.topic: pair.remote for pair in pairs}
        ids = read_ids(remotes, *seen)
        others = self._guard.find_others(remotes, ids)
        mixed = find_mixed(pairs, ids, self._selector, self._claims.memory, self._guard.find_foreign(ids))
        return mixed | {remotes[topic]: why for topic, why in others.items()}

    def _apply(self, topics: Mapping[str, TopicAcls]) -> None:
        if not topics:
            return
        self._guard.require_lead()
        if added := self._sync.apply(topics):
            log.info("flow %s: %d rights (ACLs) added", self._flow.name, added)
        known = {remote: acls.done() for remote, acls in topics.items()}
        self._guard.require_lead()
        self._claims.note_rights({r: each for r, each in known.items() if each != self._claims.memory.rights_of(r)})


def find_mixed(
    pairs: Iterable[TopicPair],
    ids: Mapping[str, TopicIds],
    selector: TopicSelector,
    memory: TopicMemory,
    foreign: Mapping[str, str],
) -> dict[str, str]:
    """Remote topics that may hold more than the copy of one source topic, and why; theirs are the target's to give.

    `ids` and `foreign` by source topic. A topic whose name says where it comes from, or that the mirror made, is taken
    for a copy.
    """
    found = {}
    for pair in pairs:
        by_policy = selector.policy.format_remote_topic(selector.source, pair.topic)
        is_named = pair.remote == by_policy != pair.topic
        if pair.is_shared or pair.topic in memory.merged:
            found[pair.remote] = "other topics are written into it, or were"
        elif not is_named and not memory.is_made(pair.remote, ids[pair.topic].target) and pair.topic in foreign:
            found[pair.remote] = f"the mirror did not make it, and {foreign[pair.topic]}"
    return found
