"""What both logs say of partitions whose progress is to be restored: has the target gone on, with equal offsets?"""

from __future__ import annotations

from collections.abc import Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.state_plan import Logs, PlaceState
from sparkmirror.copy import evidence
from sparkmirror.copy.place import Place as CopyPlace
from sparkmirror.copy.source_view import ClusterView
from sparkmirror.copy.tail import read_tail
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics


class LogReader:
    """One flow's. Blocking."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster) -> None:
        self._source, self._target = source, target
        here, there = source.fetch_metadata(), target.fetch_metadata()
        self._here, self._there = here, there
        self._view = ClusterView(source, READ_COMMITTED if flow.read_committed else READ_UNCOMMITTED)
        pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
        self._pairs: dict[Place, TopicPair] = {
            (pair.topic, number): pair for pair in pairs if pair.present for number in range(pair.partitions)
        }
        self._targets: dict[Place, Place] = {
            place: (pair.remote, pair.target_of(place[1])) for place, pair in self._pairs.items()
        }
        self.target_leaders = pick_leaders(there, self._targets.values())

    def read(
        self, wanted: Mapping[Place, PlaceState], there: Mapping[Place, PlaceState], producer_id: int
    ) -> dict[Place, Logs]:
        """Partitions whose leaders do not answer are left out. `producer_id`: the flow's."""
        here_leaders = pick_leaders(self._here, self._pairs)
        starts = list_offsets(self._source, here_leaders, EARLIEST)
        target_starts = list_offsets(self._target, self.target_leaders, EARLIEST)
        target_ends = list_offsets(self._target, self.target_leaders, LATEST)
        found: dict[Place, Logs] = {}
        for place, remote in self._targets.items():
            if place not in starts or remote not in target_starts or remote not in target_ends:
                continue
            pair = self._pairs[place]
            logs = Logs(
                starts[place],
                target_starts[remote],
                target_ends[remote],
                format_topic_id(self._here.topics[pair.topic].topic_id),
                format_topic_id(self._there.topics[pair.remote].topic_id),
                is_shared=pair.is_shared,
            )
            is_written = there.get(place, PlaceState()).standing is not None
            if not pair.is_shared and not is_written:
                logs = logs._replace(differs=self._differs(place, wanted.get(place, PlaceState()), logs, producer_id))
            found[place] = logs
        return found

    def _differs(self, place: Place, wanted: PlaceState, logs: Logs, producer_id: int) -> bool:
        """Whether offsets became translated behind what the state knows. Then counting finds the place."""
        known = wanted.standing
        if known and (known.translated or known.target_end < 0 or known.target_id not in ("", logs.target_id)):
            return False
        first = max(logs.target_start, known.target_end if known else 0)
        remote, number = self._there.topics[self._targets[place][0]], self._targets[place][1]
        found = read_tail(self._target, remote, number, first, logs.target_end) if first < logs.target_end else None
        tail = found and found.data
        if tail is None or tail.header.producer_id != producer_id or tail.header.first < first:
            return False
        source = self._here.topics[place[0]]
        bounds = self._view.bounds(source, place[1])
        if bounds is not None and tail.header.end > bounds[1]:
            return True
        both = CopyPlace(place[1], source, remote, onto=number)
        try:
            if evidence.compare(self._view, both, tail).seen < 0:
                evidence.require_equal(self._view, self._target, producer_id, both, first, tail.header.end)
        except MirrorError:
            return True
        return False
