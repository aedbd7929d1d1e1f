"""How far a flow is, as its target keeps it: the progress of each partition, and before it the offset map.

Progress never says more than the map. What is not written, of either, the next lease finds in both logs, from where
progress was written last.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping

from sparkmirror.control.offset_maps import OffsetMaps
from sparkmirror.copy.receipt import Receipt
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.progress")

Place = tuple[str, int]


class ProgressKeeper:
    """Told by the queries' threads, asked by the flow's. `written`: what stands in the topic; replaced, not changed."""

    def __init__(self, flow: str, target: Cluster, storage: Storage, replication_factor: int) -> None:
        self.written: Mapping[Place, Standing] = {}
        self._flow = flow
        self._progress = ProgressTopic(target, storage, replication_factor)
        self._maps = OffsetMaps(target, storage, replication_factor)
        self._deleted_ids: set[str] = set()  # of remote topics that ended with their source
        self._writing = threading.Lock()

    def ensure(self) -> None:
        self._progress.ensure()

    def read(self) -> None:
        with self._writing:
            self.written = self._maps.mark_lost(self._progress.read())

    def take_lead(self) -> None:
        """Another driver may have written the map meanwhile."""
        with self._writing:
            self._maps.forget()

    def believe(self, hint: Standing | None) -> Standing | None:
        """None where it is about a topic that has ended."""
        return None if hint and hint.target_id in self._deleted_ids else hint

    def is_translated(self, place: Place) -> bool:
        known = self.written.get(place)
        return known is not None and bool(known.translated)

    def is_equal(self, place: Place) -> bool:
        known = self.written.get(place)
        return known is not None and known.target_end >= 0 and not known.translated

    def is_told_all(self, positions: Mapping[Place, Standing]) -> bool:
        """Whether receipts have come of all that was copied, where the offset map is made of them."""
        return all(self._is_told(place, standing) for place, standing in positions.items() if standing.translated)

    def _is_told(self, place: Place, standing: Standing) -> bool:
        known = self.written.get(place)
        return known.next_offset >= standing.next_offset if known else standing.last_sequence < 0

    def write(self, positions: Mapping[Place, Standing], receipts: Iterable[Receipt]) -> None:
        """Write what is new. A target that does not answer is no reason to stop: its log is the truth."""
        with self._writing:
            try:
                self._maps.write(receipts)
            except SparkmirrorError as error:
                log.warning("flow %s: the offset map was not written: %s", self._flow, error)
                positions = {place: standing for place, standing in positions.items() if not standing.translated}
            known = {k: p for k, p in positions.items() if self.believe(p) and p.next_offset > 0}
            news = {k: p for k, p in known.items() if self.written.get(k) != p}
            if not news:
                return
            try:
                self._progress.write(news)
            except SparkmirrorError as error:
                log.warning("flow %s: progress was not written: %s", self._flow, error)
                return
            self.written = {**self.written, **news}

    def prune(self, log_starts: Mapping[Place, int]) -> None:
        """What the target removed needs no place in the offset map."""
        with self._writing:
            self._maps.prune(log_starts)

    def forget(self, deleted: Mapping[str, str]) -> None:
        """A topic of the same name begins anew. `deleted`: source topics, with their remote topics' ids."""
        if not deleted:
            return
        self._deleted_ids |= {topic_id for topic_id in deleted.values() if topic_id}
        with self._writing:
            self._progress.write({place: None for place in self.written if place[0] in deleted})
            self.written = {place: standing for place, standing in self.written.items() if place[0] not in deleted}
