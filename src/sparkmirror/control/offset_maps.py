"""Keeps a flow's offset map: runs out of receipts, for partitions whose offsets differ from the source's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkmirror.copy.receipt import Receipt
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import OTHERS, Standing
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]
MapRun = tuple[Place, Ids, Run]


class OffsetMaps:
    """One flow's. The topic is made with the first run: with equal offsets there is none. One user at a time."""

    def __init__(self, target: Cluster, storage: Storage, replication_factor: int) -> None:
        self._target = target
        self._storage = storage
        self._replication_factor = replication_factor
        self._topic: OffsetMapTopic | None = None
        self._is_made = False
        self._told: list[MapRun] = []

    def forget(self) -> None:
        """Another driver may have written meanwhile."""
        self._topic, self._is_made = None, False
        self._told.clear()

    def mark_lost(self, standings: Mapping[Place, Standing]) -> dict[Place, Standing]:
        """Where the map is gone, a new one does not begin at the beginning: that is kept with the progress."""
        if not any(standing.translated for standing in standings.values()):
            return dict(standings)
        topic = self._read()
        return {
            place: standing._replace(equal_end=OTHERS) if topic.is_lost(place, standing) else standing
            for place, standing in standings.items()
        }

    def tell(self, runs: Iterable[MapRun]) -> None:
        """To be written with the next `write`."""
        self._told += runs

    def begin_if_lost(self) -> dict[Place, set[Ids]]:
        """Begin anew where the topic was deleted: the partitions whose runs were lost with it, and their topics."""
        topic = self._topic
        known = topic.known_ids() if topic else {}
        if topic is None or not (known or self._is_made) or not topic.remake_if_lost():
            return {}
        self._topic, self._is_made = None, True
        return known

    def write(self) -> None:
        """What could not be written is written with the next. Before progress: that never says more than the map."""
        if self._told:
            topic = self._open()
            for place, ids, run in self._told:
                topic.add(place, ids, run)
            self._told.clear()
        if self._topic is not None:
            self._topic.write()

    def prune(self, log_starts: Mapping[Place, int]) -> None:
        """By source place, where the target's log begins."""
        if self._topic is not None:
            self._topic.prune(log_starts)

    def _open(self) -> OffsetMapTopic:
        topic = self._read()
        if not self._is_made:
            topic.ensure()
            self._is_made = True
        return topic

    def _read(self) -> OffsetMapTopic:
        if self._topic is None:
            topic = OffsetMapTopic(self._target, self._storage, self._replication_factor)
            topic.read()
            self._topic = topic
        return self._topic


def collect_runs(receipts: Iterable[Receipt]) -> list[MapRun]:
    """Of partitions with translated offsets."""
    found = []
    for receipt in receipts:
        run, standing = receipt.run, receipt.standing
        if run is not None and standing is not None and standing.translated:
            ids = Ids(standing.source_id, standing.target_id)
            found.append(((receipt.topic, receipt.partition), ids, run))
    return found
