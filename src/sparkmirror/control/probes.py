"""What the user who writes may do on the target, looked at now and then: rights come and go while a mirror runs."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.topic_facts import find_filling_facts, find_unread_facts
from sparkmirror.copy.lease import MARKERS, NEVER, NOTHING, TRANSACTIONS
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster, chunks
from sparkmirror.net.denial import describe_denial
from sparkmirror.net.rights import fetch_rights, may_use_transactions, may_write_markers
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.least_rights import OWN_IDS, TO_WRITE_MARKERS
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.select import TopicPair
from sparkmirror.topology.storage import Storage

PROBE_EVERY_S = 30.0
TOPICS_AT_ONCE = 500
WELL_EVERY_S = 300.0  # topics that could be read when last looked: brokers weigh each right of each of them

Place = tuple[str, int]


class Probes:
    """One flow's. `fill_with`: how holes can be filled, known before the first byte of a topic."""

    def __init__(self, flow: FlowConfig, writer: ClusterAddress) -> None:
        self.fill_with = MARKERS
        self._flow = flow
        self._claims = Storage.of(flow).claims
        self._target = Cluster(writer)
        self._filling_at = self._reading_at = 0.0
        self._known: frozenset[str] = frozenset()
        self._unread: frozenset[str] = frozenset()

    def close(self) -> None:
        self._target.end()

    def look_at_filling(self, producer_id: int) -> None:
        """If it is time to. A right may have been given or lost."""
        now = time.monotonic()
        if self._filling_at and now - self._filling_at < PROBE_EVERY_S:
            return
        self._filling_at = now
        if self._flow.offsets_preserve == NEVER or may_write_markers(self._target, self._claims, producer_id):
            self.fill_with = MARKERS
            return
        name = f"{OWN_IDS}{self._flow.source.alias}.{self._flow.target.alias}.probe"
        self.fill_with = TRANSACTIONS if may_use_transactions(self._target, name) else NOTHING

    def look_at_reading(self, pairs: Iterable[TopicPair]) -> None:
        """Whether remote topics may be read: at once of new ones, of others if it is time to."""
        remotes = frozenset(pair.remote for pair in pairs if pair.present)
        every_s = PROBE_EVERY_S if self._unread else WELL_EVERY_S
        now = time.monotonic()
        if not remotes or (remotes <= self._known and now - self._reading_at < every_s):
            return
        self._reading_at = now
        found = [fetch_rights(self._target, some).of_topics for some in chunks(sorted(remotes), TOPICS_AT_ONCE)]
        # Brokers that do not tell operations tell none at all.
        self._unread = frozenset(
            name for some in found for name, topic in some.items() if topic.operations and not topic.may("READ")
        )
        self._known = remotes

    def facts(self, pairs: Iterable[TopicPair]) -> dict[Place, Fact]:
        address = self._target.address
        unread = {remote: describe_denial(address, Right("READ", TOPIC, remote)) for remote in self._unread}
        found = find_unread_facts(pairs, unread)
        if self.fill_with != MARKERS:
            found |= find_filling_facts(self.fill_with, describe_denial(address, TO_WRITE_MARKERS))
        return found
