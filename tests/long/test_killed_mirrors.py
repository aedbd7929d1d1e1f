"""The whole mirror, driver, Spark and workers, killed at random moments under load: each record once, at its offset.

`KILLS=50 SEED=7 pytest -s tests/long/test_killed_mirrors.py`: a fifth of them with two replicas and a follower that
stands still in turns, a fifth with records that are three days old.
"""

from __future__ import annotations

import contextlib
import os
import random
import time

import psutil
import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, create_topic_on, topics, total
from tests.support.load import THREE_DAYS_MS, small_load, standing_still_in_turns
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

KILLS = int(os.environ.get("KILLS", "50"))
SEED = int(os.environ.get("SEED", str(random.randrange(10_000))))
PARTITIONS = 4
PAUSE_S = 0.03  # between transactions: the machine is the mirror's

pytestmark = pytest.mark.timeout(3600)


def test_kills_at_random_moments(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    create_topic(pair.source, topic, PARTITIONS)
    text = properties(pair.source, pair.target, topic, {"lease.seconds": "3"})
    with small_load(pair.source, topic, PARTITIONS, SEED, pause_s=PAUSE_S):
        kill_again_and_again(text, pair.target, topic, KILLS - 2 * (KILLS // 5))
    finish(text, java_reader, pair.source, pair.target, topic)


def test_kills_with_records_that_are_three_days_old(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    """The broker forgets the producer every second: only the tail of its log says where to go on."""
    create_topic(pair.source, topic, PARTITIONS)
    text = properties(pair.source, pair.target, topic, {"lease.seconds": "3"})
    with small_load(pair.source, topic, PARTITIONS, SEED, age_ms=THREE_DAYS_MS, pause_s=PAUSE_S):
        kill_again_and_again(text, pair.target, topic, KILLS // 5)
    finish(text, java_reader, pair.source, pair.target, topic)


def test_kills_while_a_follower_stands_still(topic: str, java_reader: JavaReader) -> None:
    slow = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "120000"}
    source, target = KafkaCluster(name="A"), KafkaCluster(3, name="B", overrides=slow)
    start_clusters(source, target)
    with source, target:
        a, b = source.bootstrap_servers, target.bootstrap_servers
        leader, follower, _ = target.brokers
        create_topic(a, topic, PARTITIONS)
        create_topic_on(b, f"A.{topic}", PARTITIONS, [leader.id, follower.id])
        text = properties(a, b, topic, {"lease.seconds": "3"})
        # Slower: with one more replica, that stands still half of the time, less is copied in a second.
        with small_load(a, topic, PARTITIONS, SEED, pause_s=10 * PAUSE_S), standing_still_in_turns(follower, SEED):
            kill_again_and_again(text, b, topic, KILLS // 5)
        finish(text, java_reader, a, b, topic)


def kill_again_and_again(text: str, target: str, topic: str, kills: int) -> None:
    """Half of the kills take everything at once, the others the driver, Spark's JVM or the workers alone."""
    print(f"\nSEED={SEED}, {kills} kills")
    dice = random.Random(SEED)
    for number in range(kills):
        with MirrorProcess(text) as mirror:
            before = copied(target, topic)
            await_condition(lambda: copied(target, topic) > before, "the mirror to go on", 120)  # noqa: B023
            time.sleep(dice.uniform(0, 4))  # a moment that nothing in the mirror can know
            victim = dice.choice(("all", "all", "all", "driver", "spark", "workers"))
            if victim == "all":
                mirror.kill()
            elif victim == "driver":
                mirror.kill_driver()
            else:
                for process in mirror.children(
                    "org.apache.spark" if victim == "spark" else "sparkmirror.pipeline.daemon"
                ):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
                time.sleep(dice.uniform(0, 2))
        print(f"kill {number + 1} of {kills}, {victim}: target at {copied(target, topic):,}", flush=True)


def copied(target: str, topic: str) -> int:
    return total(target, f"A.{topic}") if f"A.{topic}" in topics(target) else 0


def finish(text: str, reader: JavaReader, source: str, target: str, topic: str) -> None:
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(300) == 0, mirror.log()
    assert_same_log(reader, source, topic, target, f"A.{topic}", mirrored="read_committed", ends=True, deadline_s=300)
