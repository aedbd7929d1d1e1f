"""A driver that takes over after a week of a busy mirror begins as soon as one that takes over from a new mirror.

1,000 busy partitions write 60 million records of progress a week. What of that is left to read depends on the topic's
segments, and not on its age: of each of its partitions one segment that the broker writes to, and one that waits
to be compacted.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.copy.lease import Lease
from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.aged_progress import BusyProgress
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic
from tests.support.leases import address
from tests.support.source_logs.compaction import impatient_cleaner

pytestmark = pytest.mark.timeout(900)

PARTITIONS = 1000
WAVES = 4
WAVE_RECORDS = 500_000  # 80 minutes
MOST_LEFT = 25 * 2 * (1 << 20)  # bytes: two segments of each partition
MORE_S = 5.0
QUIET = {"emit.heartbeats.enabled": "false", "emit.checkpoints.enabled": "false", "emit.offset-syncs.enabled": "false"}


def test_a_takeover_takes_no_longer_after_a_week_of_progress(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, PARTITIONS)
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic, QUIET))
    storage = Storage.of(flow)
    take_over(flow)  # makes the topics
    new_s, _ = take_over(flow)
    left = []
    with Cluster(address(pair.target)) as cluster, impatient_cleaner(pair.target):
        busy = BusyProgress(cluster, storage, topic, PARTITIONS)
        for wave in range(1, WAVES + 1):
            busy.write(WAVE_RECORDS, wave * 10_000)
            await_condition(lambda: bytes_of(pair.b, storage.progress) <= MOST_LEFT, "compaction", 60)
            left.append(bytes_of(pair.b, storage.progress))
    aged_s, lease = take_over(flow)
    hints = [p.hint.next_offset for p in lease.partitions if p.hint is not None]
    print(f"{busy.written} records; bytes left after each wave: {left}; {new_s:.1f} s, then {aged_s:.1f} s")
    assert busy.written > 1_500_000
    assert hints == [WAVES * 10_000 + 1] * PARTITIONS
    assert aged_s < new_s + MORE_S


def take_over(flow: FlowConfig) -> tuple[float, Lease]:
    """Seconds until a new driver has planned its first lease, of all partitions."""
    keeper = FlowKeeper(flow, Ledger(), lambda: None)
    began = time.monotonic()
    leases: list[Lease] = []

    def has_lease() -> bool:
        leases[:] = keeper.plan(1, 1, hints={}, weights={}, troubled=(), stop_at=None)
        return bool(leases) and len(leases[0].partitions) == PARTITIONS

    try:
        keeper.start()
        keeper.lead.allow()
        await_condition(has_lease, "a lease", 120)
        return time.monotonic() - began, leases[0]
    finally:
        keeper.stop()


def bytes_of(cluster: KafkaCluster, topic: str) -> int:
    segments = cluster.brokers[0].data_path.glob(f"{topic}-*/*.log")
    return sum(segment.stat().st_size for segment in segments if segment.exists())
