"""A follower that lags keeps the high watermark behind the leader's log: the mirror must not copy from there."""

from __future__ import annotations

import threading

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.topology.storage import Storage
from tests.support.kafka_client import (
    assert_same,
    await_condition,
    create_topic,
    create_topic_on,
    produce,
    read_all,
    total,
)
from tests.support.mirror_process import MirrorProcess, properties


def _ends(servers: str, topic: str) -> tuple[int, int]:
    """The leader's log end and the high watermark of partition 0."""
    with Cluster(ClusterAddress(alias="B", bootstrap=tuple(servers.split(",")))) as cluster:
        key = {(topic, 0): cluster.fetch_metadata([topic]).topics[topic].leaders[0]}
        return list_offsets(cluster, key, LATEST, log_end=True)[topic, 0], list_offsets(cluster, key, LATEST)[topic, 0]


@pytest.mark.timeout(300)
def test_killed_while_the_follower_stands_still(topic: str) -> None:
    # Three brokers, so that the controllers keep their majority; the topic has two replicas on the target.
    slow = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "120000"}
    source, target = KafkaCluster(name="A"), KafkaCluster(3, name="B", overrides=slow)
    start_clusters(source, target)
    with source, target:
        a, b, remote = source.bootstrap_servers, target.bootstrap_servers, f"A.{topic}"
        create_topic(a, topic, 1)
        # Leader and follower are known, and the follower holds none of the mirror's own topics.
        leader, follower, third = target.brokers
        create_topic_on(b, remote, 1, [leader.id, follower.id])
        storage = Storage.named("A")
        create_topic_on(b, storage.claims, 1, [leader.id, third.id])
        create_topic_on(b, storage.progress, 25, [leader.id, third.id])
        create_topic_on(b, storage.status, 5, [leader.id, third.id])
        produce(a, topic, ({"value": b"%d" % i} for i in range(1000)))
        with MirrorProcess(properties(a, b, topic)) as mirror:
            await_condition(lambda: total(b, remote) == 1000, "the first records")
            follower.pause()
            try:
                produce(a, topic, ({"value": b"more %d" % i} for i in range(1000)))
                await_condition(lambda: _is_behind(b, remote), "the high watermark to fall behind", 30)
                mirror.kill()
                log_end, watermark = _ends(b, remote)
                print(f"killed with the leader's log end at {log_end} and the high watermark at {watermark}")
                assert watermark < log_end
                mirror.start()
                await_condition(lambda: mirror.log().count("leads, with") == 2, "the second start")
                threading.Event().wait(8)  # let it try to find its position while the follower stands still
                assert _ends(b, remote) == (log_end, watermark), "written while the position was not known"
            finally:
                follower.resume()
            await_condition(lambda: total(b, remote) >= 2000, "the rest", 90)
            produce(a, topic, ({"value": b"last %d" % i} for i in range(100)))
            await_condition(lambda: total(b, remote) >= 2100, "the last records", 60)
        assert_same(read_all(a, topic), read_all(b, remote))


def _is_behind(servers: str, topic: str) -> bool:
    log_end, watermark = _ends(servers, topic)
    return watermark < log_end
