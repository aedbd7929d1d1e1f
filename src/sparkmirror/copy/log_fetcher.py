"""Large fetches of one partition of a cluster, by whoever reads a range of it: a leader that moves is followed."""

from __future__ import annotations

import time

from sparkmirror.copy import facts
from sparkmirror.errors import BrokerError, ConnectionLostError, MirrorError
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.denial import describe_denial
from sparkmirror.net.log import fetch_partition
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.protocol import codes
from sparkmirror.protocol.fetch import READ_COMMITTED, FetchedPartition
from sparkmirror.topology.right import TOPIC, Right

FETCH_BYTES = 8 << 20
LONG_POLL_MS = 500
PATIENCE_S = 20.0
RETRY_S = 0.1


class LogFetcher:
    """Blocking. `side`: how its errors call the cluster."""

    def __init__(self, cluster: Cluster, topic: str, partition: int, isolation: int, side: str = "source") -> None:
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._isolation = isolation
        self._side = side
        self._info: TopicInfo | None = None

    def __str__(self) -> str:
        return f"{self._topic}-{self._partition}"

    def fetch(self, position: int, max_bytes: int = FETCH_BYTES) -> FetchedPartition:
        """What the log holds from a position on. A leader that moves or does not answer is asked again, for a while.

        The error that an answer may still have is OFFSET_OUT_OF_RANGE.
        """
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                fetched = fetch_partition(
                    self._cluster,
                    self._lookup(),
                    self._partition,
                    position,
                    max_bytes=max_bytes,
                    max_wait_ms=LONG_POLL_MS,
                    isolation=self._isolation,
                )
                if fetched.error in codes.PASSING:
                    raise ConnectionLostError(f"{self}: {codes.name_of(fetched.error)}")
            except (ConnectionLostError, BrokerError) as error:
                if isinstance(error, BrokerError) and error.code not in codes.PASSING:
                    raise facts.refused(self._side, error.code, None) from error
                if time.monotonic() > until:
                    raise
                self._info = None
                time.sleep(RETRY_S)  # a new leader is known by asking again
                continue
            if fetched.error and fetched.error != codes.OFFSET_OUT_OF_RANGE:
                raise self._refusal(fetched.error)
            return fetched

    def _refusal(self, code: int) -> MirrorError:
        if code in codes.FORBIDDEN:
            right = Right("READ", TOPIC, self._topic)
            return facts.unauthorized(describe_denial(self._cluster.address, right, code))
        return facts.refused(self._side, code, None)

    def readable_end(self) -> int:
        """Where what can be read ends, by its isolation."""
        return self.bound(LATEST, committed=self._isolation == READ_COMMITTED)

    def bound(self, which: int, *, committed: bool = False) -> int:
        """Where the log begins or ends."""
        info = self._lookup()
        key = (self._topic, self._partition)
        leader = {key: info.leaders[self._partition]}
        found = list_offsets(self._cluster, leader, which, committed=committed).get(key)
        if found is None:
            raise ConnectionLostError(f"{self}: its leader does not say where the log begins and ends")
        return found

    def _lookup(self) -> TopicInfo:
        if self._info is None:
            info = self._cluster.fetch_metadata([self._topic]).topics.get(self._topic)
            if info is None or self._partition not in info.leaders:
                raise facts.unseen(self._cluster.address, Right("READ", TOPIC, self._topic), self._partition, info)
            if info.leaders[self._partition].node < 0:
                raise ConnectionLostError(f"{self} has no leader")
            self._info = info
        return self._info
