"""Topics made, configured, extended and deleted on brokers of each version."""

from __future__ import annotations

import uuid

from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.acls import describe_topic_acls
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import change_topic_configs, describe_topic_configs
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.topics import TopicShape, create_topic, delete_topic, extend_topic
from sparkmirror.protocol import codes
from sparkmirror.topology.topic_configs import OF_TOPIC, ConfigChanges
from tests.support.kafka_client import await_condition


def set_on(cluster: Cluster, topic: str) -> dict[str, str | None]:
    entries = describe_topic_configs(cluster, [topic, "not-there"]).found.get(topic, {})
    return {name: entry.value for name, entry in entries.items() if entry.source == OF_TOPIC}


def test_every_version_takes_what_the_mirror_does_to_topics(versioned: KafkaCluster, topic: str) -> None:
    with Cluster(ClusterAddress(alias="V", bootstrap=(versioned.bootstrap_servers,))) as cluster:
        assert create_topic(cluster, TopicShape(topic, 2, -1, {"retention.ms": "1000"})) is not None
        assert create_topic(cluster, TopicShape(topic, 2, -1)) is None
        await_condition(lambda: set_on(cluster, topic) == {"retention.ms": "1000"}, "the topic")
        assert cluster.fetch_metadata([topic]).topics[topic].replicas == 1
        changes = ConfigChanges(set={"segment.bytes": "2000000"}, remove=("retention.ms",))
        refused = change_topic_configs(cluster, {topic: changes, "not-there": ConfigChanges(set={"retention.ms": "1"})})
        assert refused.keys() == {"not-there"}  # by a code that differs from version to version
        await_condition(lambda: set_on(cluster, topic) == {"segment.bytes": "2000000"}, "the change")
        bad = change_topic_configs(cluster, {topic: ConfigChanges(set={"no.such": "1"})})
        assert bad[topic].code in (codes.INVALID_CONFIG, codes.INVALID_REQUEST)
        before = cluster.fetch_metadata()
        assert cluster.fetch_metadata() is before, "nothing has changed, so nothing is read anew"
        extend_topic(cluster, topic, 3)
        extend_topic(cluster, topic, 3)
        await_condition(lambda: len(cluster.fetch_metadata([topic]).topics[topic].leaders) == 3, "the partition")
        assert len(cluster.fetch_metadata().topics[topic].leaders) == 3
        assert describe_topic_acls(cluster) is None
        topic_id = format_topic_id(cluster.fetch_metadata([topic]).topics[topic].topic_id)
        if topic_id:  # else nothing is ever deleted
            delete_topic(cluster, topic, str(uuid.uuid4()))
            assert not cluster.fetch_metadata([topic]).topics[topic].error, "it was another of that name"
            delete_topic(cluster, topic, topic_id)
            await_condition(lambda: bool(cluster.fetch_metadata([topic]).topics[topic].error), "its end")
            delete_topic(cluster, topic, topic_id)
