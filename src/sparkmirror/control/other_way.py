"""Where names stay both ways: what the flow from the target wrote on the source, told by its producer ids.

Its claim topic stands on the source. None of its ids may be missed, or its records would be copied back:

    the flow back       claims an id -------- waits as long as a lease here lasts -----> writes with it
    this flow                 looks again and again; a lease lasts only for so long from the last look,
                              and one that does not know all ids is not renewed

So whoever copies when the id is first used has read it. The flow back does not wait if nobody leads here: who takes the
lead gives no lease before it has looked once more. Ids are kept in this flow's own claim topic and only ever added to:
the other one may be lost while nobody looks, and what an old id wrote still stands in the logs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.leadership import SKEW_MARGIN_S, longest_lease_s, unguarded_s
from sparkmirror.control.part import Part
from sparkmirror.errors import BrokerError, ConnectionLostError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.flow")


class OtherWay:
    """One flow's view of the flow back. It looks on a thread of its own, so that no other work holds it up.

    `mine`: the claims of this flow. `changed` is called when leases are to be planned anew.
    """

    def __init__(self, flow: FlowConfig, mine: Claims, look_every_s: float, changed: Callable[[], None]) -> None:
        self._flow = flow
        self._mine = mine
        self._changed = changed
        self._look_every_s = look_every_s
        self._storage = Storage.named(flow.target.alias, flow.naming.internal_prefix)
        self._cluster = Cluster(flow_address(flow.source, flow))
        self._theirs = Claims(self._cluster, self._storage, flow.internal_replication_factor)
        self._has_begun = False  # whether the flow back has copied something
        self.skip: tuple[int, ...] = ()
        self._confirmed = (-float("inf"), -1)  # when it was last asked, and how often the lead was taken before
        self._why_unconfirmed = ""
        self._is_there = self._is_kept = False
        self._looking = threading.Lock()
        self._due = threading.Event()
        self._ended = False
        self.part = Part(f"other way of {flow.name}", self._keep)

    def begin(self) -> None:
        """Look once, and from then on again and again."""
        self.look()
        if not self._is_kept:
            self._is_kept = True
            self.part.start()

    def end(self) -> None:
        self._ended = True
        self._due.set()
        self.part.end(1.0)
        self._cluster.end()

    def look_soon(self) -> None:
        self._due.set()

    def complain(self) -> None:
        """ConnectionLostError: it could not be looked at for so long that nothing is copied."""
        if self._why_unconfirmed and not self.term_s:
            raise ConnectionLostError(
                f"{self._storage.claims} can't be read, so nothing is copied: {self._why_unconfirmed}"
            )

    def look(self) -> None:
        """Read what the flow back has claimed, and note it. What it lost while this flow ran is said again."""
        with self._looking:
            asked = time.monotonic(), self._mine.takes
            known = self._mine.skipped | set(self.skip)
            self._claim_for_it(known)
            known |= self._theirs.every_id
            if missing := known - self._mine.skipped:
                self._mine.note_skipped(missing)
            before, was_sure = self.skip, self.term_s > 0
            self.skip = tuple(sorted(known))  # before it is confirmed: see `FlowKeeper.is_current`
            self._confirmed, self._why_unconfirmed = asked, ""
        if before and self.skip != before:
            log.warning("flow %s: the flow back writes with another producer id: %s", self._flow.name, self.skip)
        if self.skip != before or not was_sure:
            self._changed()

    @property
    def term_s(self) -> float:
        """How long leases may last by the last look, 0: none may."""
        asked_at, takes = self._confirmed
        left_s = longest_lease_s(self._flow.lease_s) - (time.monotonic() - asked_at)
        return max(0.0, left_s) if takes == self._mine.takes else 0.0

    @property
    def unknowing_s(self) -> float:
        """How long leases of the flow back may last that do not know an id which was claimed before the last look."""
        leader = self._theirs.leader
        if leader is None and self._has_begun:  # its claim topic was lost
            return longest_lease_s(self._flow.lease_s) + SKEW_MARGIN_S
        return unguarded_s(leader, self._flow.lease_s)

    def _claim_for_it(self, known: set[int]) -> None:
        """Where it has not begun yet, or this flow has read the claim that was lost: then the same is said again.

        Otherwise it claims another one itself when it begins, and waits then.
        """
        if self._is_there:
            self._theirs.refresh()
        else:
            self._theirs.has_claim()
            self._is_there = True
        if self._theirs.leader is None:
            self._has_begun = self._has_begun or self._has_copied()
        if self._theirs.is_claimed:
            return
        if self._theirs.every_id or not self._has_begun:
            self._theirs.claim_producer_id()
        elif not known:
            raise ConnectionLostError(
                f"the flow {self._flow.target.alias}->{self._flow.source.alias} has copied records, and "
                f"{self._storage.claims} does not say under which producer id: waiting for that flow to claim one"
            )

    def _has_copied(self) -> bool:
        """Who may not see its progress can't tell that it has not."""
        progress = ProgressTopic(self._cluster, self._storage)
        try:
            return progress.is_there() and progress.has_ours()
        except BrokerError:
            return True

    def _keep(self) -> None:
        while not self._ended:
            self._due.wait(self._look_every_s)
            self._due.clear()
            if not self._ended:
                self._try_look()

    def _try_look(self) -> None:
        try:
            self.look()
        except SparkmirrorError as error:
            self._why_unconfirmed = str(error)
