"""A follower that lags keeps the high watermark behind the leader's log: the mirror must not copy from there."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka.admin import AdminClient

from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

REPLICATED = {"replication.factor": "2", "offset.storage.replication.factor": "2"}


def leader_and_ends(servers: str, topic: str) -> tuple[int, int, int]:
    """Leader, its log end and the high watermark of partition 0."""
    with Cluster(ClusterAddress(alias="B", bootstrap=tuple(servers.split(",")))) as cluster:
        leader = cluster.fetch_metadata([topic]).topics[topic].leaders[0]
        key = {(topic, 0): leader}
        log_end = list_offsets(cluster, key, LATEST, log_end=True)[topic, 0]
        return leader.node, log_end, list_offsets(cluster, key, LATEST)[topic, 0]


@pytest.mark.timeout(300)
def test_killed_while_the_follower_stands_still(topic: str) -> None:
    # Three brokers, so that the controllers keep their majority; the topic has two replicas on the target.
    slow = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "120000"}
    source, target = KafkaCluster(name="A"), KafkaCluster(3, name="B", overrides=slow)
    start_clusters(source, target)
    with source, target:
        a, b, remote = source.bootstrap_servers, target.bootstrap_servers, f"A.{topic}"
        create_topic(a, topic, 1)
        produce(a, topic, ({"value": b"%d" % i} for i in range(1000)))
        text = properties(a, b, topic, REPLICATED)
        with MirrorProcess(text) as mirror:
            await_condition(lambda: f"A.{topic}" in topics(b) and total(b, remote) == 1000, "the first records")
            node = leader_and_ends(b, remote)[0]
            follower = next(n for n in _replicas(b, remote) if n != node)
            broker = next(x for x in target.brokers if x.id == follower)
            broker.pause()
            try:
                produce(a, topic, ({"value": b"more %d" % i} for i in range(1000)))
                await_condition(lambda: _is_behind(b, remote), "the high watermark to fall behind", 30)
                mirror.kill()
                _, log_end, watermark = leader_and_ends(b, remote)
                print(f"killed with the leader's log end at {log_end} and the high watermark at {watermark}")
                assert watermark < log_end
                mirror.start()
                await_condition(lambda: mirror.log().count("leads, with") == 2, "the second start")
                threading.Event().wait(12)  # let it try to find its position while the follower stands still
            finally:
                broker.resume()
            await_condition(lambda: total(b, remote) >= 2000, "the rest", 90)
            produce(a, topic, ({"value": b"last %d" % i} for i in range(100)))
            await_condition(lambda: total(b, remote) >= 2100, "the last records", 60)
        assert_same(read_all(a, topic), read_all(b, remote))


def _is_behind(servers: str, topic: str) -> bool:
    _, log_end, watermark = leader_and_ends(servers, topic)
    return watermark < log_end


def _replicas(servers: str, topic: str) -> list[int]:
    found = AdminClient({"bootstrap.servers": servers}).list_topics(topic, timeout=20).topics[topic]
    return list(found.partitions[0].replicas)
