"""Lets the target's logs begin where the source's do (`sync.log.start.enabled`), for partitions with equal offsets."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from sparkmirror.control.discovery import Place, pick_leaders
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.delete import delete_records
from sparkmirror.net.denial import refused
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.flow")


class LogStarts:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(self, flow: str, source: Cluster, target: Cluster, guard: IncarnationGuard) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._guard = guard
        self._said: dict[Place, str] = {}

    def sync(
        self,
        partitions: Iterable[LeasePartition],
        seen: tuple[Metadata, Metadata],
        standings: Mapping[Place, Standing],
    ) -> None:
        """Nothing is removed but what is known to be mirrored, of the very topics that it was mirrored from and to."""
        by_place = {p.place: p for p in partitions}
        here = pick_leaders(seen[0], by_place)
        there = pick_leaders(seen[1], [p.target_place for p in by_place.values()])
        starts = list_offsets(self._source, here, EARLIEST)
        now = list_offsets(self._target, there, EARLIEST)
        ends = list_offsets(self._target, there, LATEST)
        before: dict[Place, int] = {}
        for place, p in by_place.items():
            at = p.target_place
            if place in starts and at in now and at in ends and place in standings:
                wanted = min(starts[place], standings[place].next_offset, ends[at])
                before |= {place: wanted} if now[at] < wanted else {}
        if before:
            reasons = self._guard.find_reasons([by_place[place] for place in before], here, there)
            self._say(reasons)
            self._guard.require_lead()
            kept = {by_place[place].target_place: first for place, first in before.items() if place not in reasons}
            for (topic, partition), code in delete_records(self._target, there, kept).items():
                if code:
                    what = f"the log of {topic}-{partition} can't begin at {kept[topic, partition]}"
                    error = refused(self._target.address, what, code, Right("DELETE", TOPIC, topic))
                    log.warning("flow %s: %s", self._flow, error)

    def _say(self, reasons: Mapping[Place, str]) -> None:
        """Once, until there is something else to say."""
        for place, why in reasons.items():
            if self._said.get(place) != why:
                log.warning("flow %s: %s-%d: the target's log keeps its start: %s", self._flow, place[0], place[1], why)
        self._said = dict(reasons)
