"""A Spark cluster that has no more slots than leases: consumer groups get their turn all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, commit
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess
from tests.support.standalone import ON_LOOPBACK, Standalone

INTERVAL_S = 3
LEASE_S = 4
ROUNDS = 6
RECORDS = 1000


@pytest.fixture
def two_slots(tmp_path: Path) -> Iterator[Standalone]:
    cluster = Standalone(tmp_path)
    try:
        cluster.start(1, cores=2)
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.timeout(240)
def test_two_flows_in_two_slots_and_groups_on_time(pair: Pair, topic: str, two_slots: Standalone) -> None:
    """Each flow's lease has a slot, and none is left: groups have theirs when leases are handed over."""
    for servers in (pair.source, pair.target):
        create_topic(servers, topic, 2)
        produce(servers, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS)))
    commit(pair.source, topic, {(topic, 0): 1})
    lines = {
        "clusters": "east, west",
        "east.bootstrap.servers": pair.source,
        "west.bootstrap.servers": pair.target,
        "east->west.enabled": "true",
        "west->east.enabled": "true",
        "topics": topic,
        "groups": topic,
        "replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "tasks.max": "2",
        "tasks.min": "2",
        "lease.seconds": str(LEASE_S),
        "emit.checkpoints.interval.seconds": str(INTERVAL_S),
        "sync.group.offsets.interval.seconds": str(INTERVAL_S),
        "spark.master": two_slots.url,
        "spark.ui.enabled": "false",
        **ON_LOOPBACK,
        **KEYS,
    }
    remote = (f"east.{topic}", 0)
    with MirrorProcess("".join(f"{key} = {value}\n" for key, value in lines.items())):
        for servers, copied in ((pair.target, f"east.{topic}"), (pair.source, f"west.{topic}")):
            await_condition(lambda s=servers, t=copied: t in topics(s) and total(s, t) == RECORDS, copied, 90)  # type: ignore[misc]
        await_condition(lambda: committed(pair.target, topic, [remote])[remote] == 1, "the first sync", 60)
        waits = []
        for offset in range(10, 10 + ROUNDS):
            commit(pair.source, topic, {(topic, 0): offset})
            began = time.monotonic()
            await_condition(lambda o=offset: committed(pair.target, topic, [remote])[remote] == o, "a sync", 60)  # type: ignore[misc]
            waits.append(time.monotonic() - began)
    print(f"\nsynced after {', '.join(f'{wait:.1f}' for wait in waits)} s, every {INTERVAL_S} s, leases of {LEASE_S} s")
    assert max(waits) < INTERVAL_S + LEASE_S + 2
