"""10,000 groups with 10 partitions each on three brokers: committed, fetched, and again while a coordinator dies.

Timings are printed: `pytest -s tests/long/test_many_groups.py`. GROUPS as you like.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets
from sparkmirror.net.groups import EMPTY, GroupState, delete_groups, describe_groups, list_groups
from sparkmirror.protocol.committed import Committed, Partition
from tests.support.kafka_client import create_topic

GROUPS = int(os.environ.get("GROUPS", "10000"))
PARTITIONS = 10
BROKERS = 3
FAILOVER_S = 60.0

pytestmark = pytest.mark.timeout(600)

Offsets = dict[str, dict[Partition, Committed]]
Answer = TypeVar("Answer")


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(BROKERS, name="groups", overrides=QUICK_FAILOVER) as cluster:
        create_topic(cluster.bootstrap_servers, "t", PARTITIONS, BROKERS)
        yield cluster


def offsets(first: int) -> Offsets:
    return {f"group-{i}": {("t", p): Committed(first + i + p) for p in range(PARTITIONS)} for i in range(GROUPS)}


def timed(what: str, do: Callable[[], Answer]) -> Answer:
    began, used = time.perf_counter(), time.process_time()
    answer = do()
    print(
        f"{what:28} {time.perf_counter() - began:6.2f} s, {time.process_time() - used:5.2f} s of it our processor time"
    )
    return answer


def test_a_round_of_many_groups(kafka: KafkaCluster) -> None:
    print(f"\n{GROUPS:,} groups x {PARTITIONS} partitions, {BROKERS} brokers")
    written = dict.fromkeys((("t", p) for p in range(PARTITIONS)), 0)
    with Cluster(ClusterAddress(alias="G", bootstrap=tuple(kafka.bootstrap_servers.split(",")))) as cluster:

        def commit(what: str, wanted: Offsets) -> None:
            answers = timed(what, lambda: commit_group_offsets(cluster, wanted, deadline_s=FAILOVER_S))
            assert {group: answer for group, answer in answers.items() if answer != written} == {}
            assert timed("fetched", lambda: fetch_group_offsets(cluster, wanted, deadline_s=FAILOVER_S)) == wanted

        commit("committed, first time", offsets(0))
        commit("committed", offsets(1))
        states = timed("described", lambda: describe_groups(cluster, offsets(0)))
        assert set(states.values()) == {GroupState(EMPTY, "classic", 0, "")}
        assert len(timed("listed", lambda: list_groups(cluster)).groups) == GROUPS

        right = dict(cluster.coordinators)
        cluster.coordinators = {group: node % BROKERS + 1 for group, node in right.items()}
        commit("committed, all had moved", offsets(2))
        assert cluster.coordinators == right

        kafka.brokers[0].kill()
        commit("committed after a kill", offsets(3))
        assert set(cluster.coordinators.values()) == {2, 3}
        assert timed("deleted", lambda: delete_groups(cluster, offsets(0), deadline_s=FAILOVER_S)) == {}
        assert list_groups(cluster).groups == {}
