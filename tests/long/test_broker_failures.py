"""Brokers die and come back on both sides, under load: nothing is lost, nothing is double."""

from __future__ import annotations

import threading

import pytest

from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster, start_clusters
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

REPLICATED = {"replication.factor": "3", "offset.storage.replication.factor": "3", "tasks.max": "3", "tasks.min": "3"}


@pytest.mark.timeout(420)
def test_one_broker_on_each_side_is_killed_and_restarted_under_load(topic: str) -> None:
    overrides = {**QUICK_FAILOVER, "min.insync.replicas": "2"}
    source, target = KafkaCluster(3, name="A", overrides=overrides), KafkaCluster(3, name="B", overrides=overrides)
    start_clusters(source, target)
    with source, target:
        a, b, remote = source.bootstrap_servers, target.bootstrap_servers, f"A.{topic}"
        create_topic(a, topic, 12, replicas=3)
        stop = threading.Event()
        with MirrorProcess(properties(a, b, topic, REPLICATED)):
            await_condition(lambda: remote in topics(b), "the remote topic", 90)
            load = threading.Thread(target=_load, args=(a, topic, stop))
            load.start()
            try:
                for cluster, servers in ((source, a), (target, b)):
                    copied = total(b, remote)
                    await_condition(lambda: total(b, remote) > copied + 2000, "load")  # noqa: B023
                    cluster.brokers[1].kill()
                    copied = total(b, remote)
                    await_condition(lambda: total(b, remote) > copied + 2000, f"copying without {servers}'s broker")  # noqa: B023
                    cluster.brokers[1].start()
                    cluster.brokers[1].wait_ready()
            finally:
                stop.set()
                load.join()
            await_condition(lambda: total(b, remote) >= total(a, topic), "the rest", 90)
        assert_same(read_all(a, topic), read_all(b, remote))


def _load(servers: str, topic: str, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        records = ({"value": b"%d" % i, "partition": i % 12} for i in range(number, number + 600))
        produce(servers, topic, records, enable_idempotence=True)
        number += 600
        stop.wait(0.1)
