"""How far a flow is, as its target keeps it: the progress of each partition, and before it the offset map.

Progress never says more than the map. What is not written, of either, the next lease finds in both logs, from where
progress was written last.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping

from sparkmirror.control.log import complaint_level
from sparkmirror.control.offset_maps import MapRun, OffsetMaps, collect_runs
from sparkmirror.copy.receipt import Receipt
from sparkmirror.errors import ConnectionLostError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.standing import OTHERS, Standing
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.progress")

Place = tuple[str, int]


class ProgressKeeper:
    """Told by the desk's threads, written by the flow's. `written`: what stands in the topic; replaced, not changed.

    `may_write`: asked before each write, whether it is known that this driver leads. `tries_again`: news that could
    not be written stay due. Not where tasks write to the topic, too: it would come behind.
    """

    def __init__(
        self,
        flow: str,
        target: Cluster,
        storage: Storage,
        replication_factor: int,
        *,
        may_write: Callable[[], bool],
        tries_again: bool = True,
    ) -> None:
        self._may_write = may_write
        self._tries_again = tries_again
        self.written: Mapping[Place, Standing] = {}
        self._flow = flow
        self._progress = ProgressTopic(target, storage, replication_factor)
        self._maps = OffsetMaps(target, storage, replication_factor)
        self._deleted_ids: set[str] = set()  # of remote topics that ended with their source
        self._due: dict[Place, Standing] = {}
        self._due_runs: list[MapRun] = []
        self._is_stale = False  # another may have written since this driver last read
        self._is_lost = False  # what was written is to be written again
        self._maps_lost: dict[Place, set[Ids]] = {}  # the topics of partitions whose map was deleted under this driver
        self._telling = threading.Lock()
        self._writing = threading.Lock()

    def ensure(self) -> None:
        self._progress.ensure()

    def has_copied(self) -> bool:
        with self._writing:
            self._progress.ensure()
            return self._progress.has_ours()

    def read(self, *, keep: bool = False) -> None:
        """`keep`: nobody else has led since, so what the topic does not say was lost with it, and is written anew."""
        with self._writing:
            if not keep:
                self._take_due()  # told by leases of an earlier lead
            found = self._progress.read()
            lost = {place: known for place, known in self.written.items() if place not in found} if keep else {}
            self._append(lost)
            self.written = self._maps.mark_lost(lost | found)
            self._is_stale = self._is_lost = False

    def take_lead(self) -> None:
        """Another driver may have written meanwhile: what this one knew is old, and nothing of it is written."""
        with self._writing:
            self._is_stale = True
            self._maps.forget()
            self._take_due()

    def believe(self, hint: Standing | None) -> Standing | None:
        """None where it is about a topic that has ended."""
        return None if hint and hint.target_id in self._deleted_ids else hint

    def is_translated(self, place: Place) -> bool:
        known = self.written.get(place)
        return known is not None and bool(known.translated)

    def is_equal(self, place: Place) -> bool:
        known = self.written.get(place)
        return known is not None and known.target_end >= 0 and not known.translated

    def note(self, positions: Mapping[Place, Standing], receipts: Iterable[Receipt] = ()) -> None:
        """To be written with the next `write`."""
        with self._telling:
            self._due |= positions
            self._due_runs += collect_runs(receipts)

    def write_now(self, place: Place, standing: Standing) -> None:
        """What must be known before anything is appended. All that was noted of the partition before is older."""
        with self._writing:
            if self._is_stale:
                raise ConnectionLostError("progress is not read yet: nothing is written for leases of an earlier lead")
            with self._telling:
                self._due.pop(place, None)
                runs, self._due_runs = self._due_runs, []
            self._maps.tell(runs)
            if standing.translated:
                self._write_maps()
            standing = self._mark(place, standing)
            self._append({place: standing})
            self.written = {**self.written, place: standing}

    def write(self) -> bool:
        """Write what is new; all, where the topic was lost. Whether it stands there now: a target that does not answer
        is no reason to stop, its log is the truth.
        """
        with self._writing:
            if self._is_stale:
                return False
            positions, runs = self._take_due()
            self._maps.tell(runs)
            held = self._try_maps(positions)
            told = {**(self.written if self._maps_lost else {}), **positions}
            news = self._news({place: standing for place, standing in told.items() if place not in held})
            try:
                if self._progress.remake_if_lost():
                    log.warning("flow %s: its progress topic was deleted: progress is written anew", self._flow)
                    self._is_lost = True
                self._append(self._find_lost() | news)
                self._is_lost = False
            except SparkmirrorError as error:
                log.log(complaint_level(error), "flow %s: progress was not written: %s", self._flow, error)
                held, news = held | news, {}
            if self._tries_again:
                with self._telling:
                    self._due = held | self._due
            self.written = {**self.written, **news}
            return not held

    def _try_maps(self, positions: Mapping[Place, Standing]) -> dict[Place, Standing]:
        """Progress that waits for the map: none, if that can be written."""
        try:
            self._write_maps()
        except SparkmirrorError as error:
            log.log(complaint_level(error), "flow %s: the offset map was not written: %s", self._flow, error)
            return {place: standing for place, standing in positions.items() if standing.translated}
        return {}

    def _write_maps(self) -> None:
        """Where the map was deleted another begins: of what was copied before nobody knows where it stands."""
        if lost := self._maps.begin_if_lost():
            log.warning("flow %s: its offset map was deleted: it begins anew with what is copied now", self._flow)
            self._maps_lost |= lost
        self._require_lead()
        self._maps.write()

    def _mark(self, place: Place, standing: Standing) -> Standing:
        """Leases that run know nothing of a map that was lost."""
        ids = Ids(standing.source_id, standing.target_id)
        is_lost = standing.translated and any(lost.may_be(ids) for lost in self._maps_lost.get(place, ()))
        return standing._replace(equal_end=OTHERS) if is_lost else standing

    def _find_lost(self) -> dict[Place, Standing]:
        """What a topic that was made anew does not say. What it says came later: tasks may write to it, too."""
        found = self._progress.read() if self._is_lost else self.written
        return {place: known for place, known in self.written.items() if place not in found}

    def _append(self, positions: Mapping[Place, Standing | None]) -> None:
        """To make a topic or to read it takes its time: another driver may lead by now."""
        if not positions:
            return
        self._require_lead()
        self._progress.write(positions)

    def _require_lead(self) -> None:
        if not self._may_write():
            raise ConnectionLostError("another driver may lead: its progress is not overwritten")

    def drop(self) -> None:
        """What was noted is not written any more."""
        with self._writing:
            self._take_due()

    def is_all_written(self, positions: Mapping[Place, Standing]) -> bool:
        """All that was noted, and these. Does not wait for who writes: then it is not."""
        if not self._writing.acquire(blocking=False):
            return False
        try:
            return not self._due and not self._due_runs and not self._is_lost and not self._news(positions)
        finally:
            self._writing.release()

    def _news(self, positions: Mapping[Place, Standing]) -> dict[Place, Standing]:
        known = {k: self._mark(k, p) for k, p in positions.items() if self.believe(p) and p.next_offset > 0}
        return {k: p for k, p in known.items() if self.written.get(k) != p}

    def _take_due(self) -> tuple[dict[Place, Standing], list[MapRun]]:
        with self._telling:
            positions, self._due = self._due, {}
            runs, self._due_runs = self._due_runs, []
            return positions, runs

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
            self._append({place: None for place in self.written if place[0] in deleted})
            self.written = {place: standing for place, standing in self.written.items() if place[0] not in deleted}
