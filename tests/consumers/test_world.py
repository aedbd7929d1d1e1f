"""Consumer groups in random lives of a mirror on real brokers: see `model.py` for what must hold, SEED for another."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.control import switch
from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.consumers.world import World
from tests.support.group_members import committed
from tests.support.kafka_client import create_topic

SEED = int(os.environ.get("SEED", "1"))
LIVES, STEPS = 4, 3
# The cleaner looks all the time, and a group's end is soon known.
BROKERS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "producer.id.expiration.check.interval.ms": "1000",
    "broker.session.timeout.ms": "3000",  # a broker that was killed is let in again only then
    "broker.heartbeat.interval.ms": "500",
}


@contextlib.contextmanager
def brokers() -> Iterator[Pair]:
    """They may be killed. The topic of groups is made with a cluster's first group, and that takes its time."""
    a, b = (KafkaCluster(name=f"consumers-{name}", overrides=BROKERS, heap_mb=256) for name in "AB")
    start_clusters(a, b)
    with a, b:
        for cluster in (a, b):
            create_topic(cluster.bootstrap_servers, "first")
            committed(cluster.bootstrap_servers, "first", [("first", 0)])
        yield Pair(a, b)


def live(pair: Pair, folder: Path, seed: int, lives: int, steps: int) -> Counter[str]:
    folder.mkdir()
    world = World(pair, folder, seed, lives)
    try:
        world.live(steps)
    finally:
        print(f"{world.said}: {dict(world.counts)}")
    return world.counts


@pytest.mark.timeout(300)
def test_no_group_skips_a_record_or_reads_one_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    with brokers() as pair:
        counts = live(pair, tmp_path / f"world{SEED}", SEED, LIVES, STEPS)
    assert counts["lives"] == LIVES
