"""Asked before anything on the target is removed or overwritten: is it still the copy of what the source holds?

Each question is put to the brokers anew. What a broker tells of a log and what it tells of a topic may be of two topics
of one name, if that is made anew between the two answers. So ids are asked of the very leaders that told of their logs,
and after them. An id never comes again: one that progress knew before is that of all that was told between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from sparkmirror.control.discovery import Place
from sparkmirror.control.lead import Lead
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import fetch_epoch_ends
from sparkmirror.net.topics import fetch_topic_ids, read_ids
from sparkmirror.topology.fact import WHOLE_TOPIC, Fact
from sparkmirror.topology.incarnation import (
    TopicIds,
    find_foreign,
    find_kept,
    find_others,
    find_unproven,
    find_written,
    why_not_same,
    why_stopped,
)
from sparkmirror.topology.standing import Standing

Leaders = Mapping[Place, Leader]


class IncarnationGuard:
    """One flow's. Blocking; for any thread. `standings`: progress as it is written; `facts`: of all partitions. `anew`:
    partitions whose target topic is to be another one.
    """

    def __init__(
        self,
        source: Cluster,
        target: Cluster,
        lead: Lead,
        standings: Callable[[], Mapping[Place, Standing]],
        facts: Callable[[], Mapping[Place, Fact]],
        anew: Callable[[], Collection[Place]] = tuple,
    ) -> None:
        self._source = source
        self._target = target
        self._lead = lead
        self._standings = standings
        self._facts = facts
        self._anew = anew

    def require_lead(self) -> None:
        """ConnectionLostError: another driver may lead, or the flow is halted."""
        if not self._lead.term_s:
            raise ConnectionLostError("it is not known that this driver leads: nothing is removed or changed")

    def find_reasons(self, partitions: Iterable[LeasePartition], here: Leaders, there: Leaders) -> dict[Place, str]:
        """Why nothing may be removed from partitions, by source place; those that are not named are proven the same."""
        self.require_lead()
        partitions = list(partitions)
        sources = fetch_topic_ids(self._source, {p.place: here[p.place] for p in partitions})
        targets = fetch_topic_ids(self._target, {p.target_place: there[p.target_place] for p in partitions})
        standings, facts, cut = self._standings(), self._facts(), self._find_cuts(partitions, here)
        found = {}
        for p in partitions:
            now = TopicIds(sources.get(p.topic, ""), targets.get(p.remote, ""))
            fact = facts.get(p.place) or facts.get((p.topic, WHOLE_TOPIC))
            found[p.place] = why_not_same(standings.get(p.place), now) or why_stopped(fact) or cut.get(p.place, "")
        return {place: why for place, why in found.items() if why}

    def _find_cuts(self, partitions: Iterable[LeasePartition], here: Leaders) -> dict[Place, str]:
        """The source may have lost the end of what was copied, and hold other records there by now (KIP-320)."""
        standings = self._standings()
        known = {p.place: standing for p in partitions if (standing := standings.get(p.place)) is not None}
        epochs = {place: s.source_epoch for place, s in known.items() if s.source_epoch >= 0}
        ends = fetch_epoch_ends(self._source, here, epochs)
        return {
            place: f"the source was cut back to offset {ends[place].end}"
            for place in ends
            if 0 <= ends[place].end < known[place].next_offset
        }

    def find_others(self, remotes: Mapping[str, str], seen: Mapping[str, TopicIds] | None = None) -> dict[str, str]:
        """Why remote topics are left as they are, by source topic: one of the two is known to be another by now.

        `remotes`: source topic -> remote topic. `seen`: their ids from before whatever else was asked of them.
        """
        ids = self._fetch_ids(remotes)
        moved = [topic for topic, now in ids.items() if seen is not None and seen.get(topic) != now]
        others = dict.fromkeys(moved, "one of the two topics was made anew, or did not answer, during the look")
        return others | self._find_others(ids)

    def find_foreign(self, ids: Mapping[str, TopicIds]) -> dict[str, str]:
        """Why it is not proven that remote topics hold the copy and nothing else. `ids`: as just asked for."""
        return find_foreign(ids, self._standings(), self._facts())

    def find_unlike(self, ids: Mapping[str, TopicIds]) -> dict[str, str] | None:
        """The same of topics whose ids were just asked for; None: it is not known that this driver leads."""
        return self._find_others(ids) if self._lead.term_s else None

    def _find_others(self, ids: Mapping[str, TopicIds]) -> dict[str, str]:
        anew, standings, facts = self._anew(), self._standings(), self._facts()
        known = {place: standing for place, standing in standings.items() if place not in anew}
        return find_others(ids, known, {place: fact for place, fact in facts.items() if place not in anew})

    def find_unproven(self, remotes: Mapping[str, str]) -> dict[str, str]:
        """Why it is not proven that both topics are those that were mirrored, and that nothing of them stands still."""
        return find_unproven(self._fetch_ids(remotes), self._standings(), self._facts())

    def find_kept(
        self, last_ids: Mapping[str, str], remotes: Mapping[str, str], ends: Mapping[Place, int | None]
    ) -> dict[str, str]:
        """Why remote topics outlive their source topics; `last_ids`: of these, as they were last seen.

        `remotes`: source topic -> remote topic. `ends`: of the remote partitions, as just asked for.
        """
        self.require_lead()
        standings = self._standings()
        return find_written(remotes, ends, standings) | find_kept(last_ids, standings, self._facts())

    def _fetch_ids(self, remotes: Mapping[str, str]) -> dict[str, TopicIds]:
        self.require_lead()
        if not remotes:
            return {}
        here = self._source.fetch_metadata(sorted(remotes))
        there = self._target.fetch_metadata(sorted(set(remotes.values())))
        return read_ids(remotes, here, there)
