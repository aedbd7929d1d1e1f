"""Emits a flow's offset syncs as MirrorMaker 2 does, for who reads them: its tools, and itself if it takes over."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable

from sparkmirror.config.model import FlowConfig
from sparkmirror.copy.receipt import COPIED, Receipt
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.offsets.offset_syncs import encode_key, encode_value
from sparkmirror.offsets.sync_rule import OffsetPair, SyncRule
from sparkmirror.topology.internal_topics import plan_offset_syncs_topic
from sparkmirror.topology.policy import ReplicationPolicy

MOST_WAITING = 64  # a partition: as many as MirrorMaker 2 remembers
DELAYED_S = 60.0  # MirrorMaker 2 sends the newest of a partition with each flush of its offsets, once a minute

Place = tuple[str, int]


class OffsetSyncWriter:
    """Is told receipts by other threads than the one that writes, so that a source that is away holds up nothing."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster, policy: ReplicationPolicy) -> None:
        self._is_wanted = flow.offset_syncs.topic.is_wanted
        self._lag_max = flow.offset_syncs.lag_max
        plan = plan_offset_syncs_topic(flow, policy)
        cluster = source if plan.on_source else target
        self._topic = InternalTopic(cluster, plan.name, partitions=1, replication_factor=plan.replication_factor)
        self._rules: dict[Place, SyncRule] = {}
        self._waiting: dict[Place, deque[OffsetPair]] = {}
        self._lock = threading.Lock()
        self._promoted_at = time.monotonic()

    def take(self, receipts: Iterable[Receipt]) -> None:
        if not self._is_wanted:
            return
        with self._lock:
            for receipt in receipts:
                if receipt.kind == COPIED and receipt.run is not None:
                    place = (receipt.topic, receipt.partition)
                    rule = self._rules.setdefault(place, SyncRule(self._lag_max))
                    self._wait(place, rule.take(receipt.run))

    def write(self) -> None:
        """What waits. What can't be written now waits on, the newest of it."""
        with self._lock:
            if time.monotonic() - self._promoted_at >= DELAYED_S:
                self._promoted_at = time.monotonic()
                for place, rule in self._rules.items():
                    self._wait(place, [rule.delayed] if rule.delayed else [])
                    rule.delayed = None
            waiting, self._waiting = self._waiting, {}
        records: list[tuple[bytes, bytes | None]] = [
            (encode_key(*place), encode_value(*pair)) for place, pairs in waiting.items() for pair in pairs
        ]
        if not records:
            return
        try:
            self._topic.append(0, records)
        except SparkmirrorError:
            with self._lock:
                newer, self._waiting = self._waiting, waiting
                for place, pairs in newer.items():
                    self._wait(place, pairs)
            raise

    def _wait(self, place: Place, pairs: Iterable[OffsetPair]) -> None:
        for pair in pairs:
            self._waiting.setdefault(place, deque(maxlen=MOST_WAITING)).append(pair)
