"""Leases that are killed at random moments under load: nothing twice, nothing lost, order and offsets kept.

The number of kills and the seed come from the environment: `KILLS=50 SEED=7 pytest tests/faults/test_killed_leases.py`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, create_topic_on, produce
from tests.support.lease_process import start_lease_process
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.load import THREE_DAYS_MS, small_load, standing_still_in_turns
from tests.support.same_log import assert_same_log

KILLS = int(os.environ.get("KILLS", "5"))
SEED = int(os.environ.get("SEED", str(random.randrange(10_000))))
PARTITIONS = 4
LEASE_S = 4.0

pytestmark = pytest.mark.timeout(1200)


def kill_again_and_again(
    source: str, target: str, topic: str, producer_id: int, kills: int, *, unguarded_wait_s: float = 0.0
) -> None:
    dice = random.Random(SEED)
    for number in range(kills):
        process = start_lease_process(
            source, target, topic, producer_id, seconds=2.0, unguarded_wait_s=unguarded_wait_s
        )
        assert process.stdout is not None and process.stdout.readline() == "lease\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(unguarded_wait_s + dice.uniform(0.05, 3.5))
        process.kill()
        said = process.communicate()[0]
        print(f"kill {number + 1} of {kills}: target at {sum(ends(target, topic).values()):,} {said.split()[1:]}")


def test_kills_at_random_moments(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    print(f"SEED={SEED} KILLS={KILLS}")
    create_topic(pair.source, topic, PARTITIONS)
    create_topic(pair.target, topic, PARTITIONS)
    producer_id = new_producer_id(pair.target)
    with small_load(pair.source, topic, PARTITIONS, SEED):
        kill_again_and_again(pair.source, pair.target, topic, producer_id, KILLS)
    assert run_lease(pair.source, pair.target, topic, producer_id).facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_kills_with_records_that_are_three_days_old(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    """The broker forgets the producer every second: only the tail of its log says where to go on."""
    print(f"SEED={SEED}")
    create_topic(pair.source, topic, PARTITIONS)
    create_topic(pair.target, topic, PARTITIONS)
    producer_id = new_producer_id(pair.target)
    with small_load(pair.source, topic, PARTITIONS, SEED, age_ms=THREE_DAYS_MS):
        kill_again_and_again(pair.source, pair.target, topic, producer_id, max(3, KILLS // 5), unguarded_wait_s=1.0)
    assert run_lease(pair.source, pair.target, topic, producer_id, unguarded_wait_s=1.0).facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


@pytest.mark.long
def test_kills_while_a_follower_stands_still(topic: str, java_reader: JavaReader) -> None:
    """Two replicas on the target; the follower is stopped and let go in turns, so the high watermark lags."""
    print(f"SEED={SEED}")
    slow = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "120000"}
    source, target = KafkaCluster(name="A"), KafkaCluster(3, name="B", overrides=slow)
    start_clusters(source, target)
    with source, target:
        a, b = source.bootstrap_servers, target.bootstrap_servers
        leader, follower, _ = target.brokers
        create_topic(a, topic, PARTITIONS)
        create_topic_on(b, topic, PARTITIONS, [leader.id, follower.id])
        producer_id = new_producer_id(b)
        with small_load(a, topic, PARTITIONS, SEED), standing_still_in_turns(follower, SEED):
            kill_again_and_again(a, b, topic, producer_id, max(3, KILLS // 5))
        await_condition(lambda: run_lease(a, b, topic, producer_id, seconds=20).facts == [], "the rest", 90)
        assert_same_log(java_reader, a, topic, b, topic, mirrored="read_committed", ends=True)


def test_a_lease_that_is_over_when_its_process_wakes_up_writes_nothing_more(pair: Pair, topic: str) -> None:
    """Others may write by then. What was fetched for it meanwhile comes first when it wakes."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % n} for n in range(10)))
    process = start_lease_process(
        pair.source, pair.target, topic, new_producer_id(pair.target), seconds=LEASE_S, leases=1
    )
    assert process.stdout is not None and process.stdout.readline() == "lease\n"
    await_condition(lambda: ends(pair.target, topic) == {0: 10}, "the first records", 30)
    process.send_signal(signal.SIGSTOP)
    produce(pair.source, topic, ({"value": b"%d" % n} for n in range(10)))
    time.sleep(LEASE_S)  # until it is over
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert ends(pair.target, topic) == {0: 10}
