"""Brokers that make topics for whoever asks make none for the mirror."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.flow_plan import plan_mirror
from sparkmirror.control.survey import survey_flows
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.embedded import KafkaCluster
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.local_mirror import mirroring

EXTRA = {
    "replication.internal.topic.replication.factor": "1",
    "refresh.topics.interval.seconds": "0.2",
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
}


def made_on(servers: str) -> set[str]:
    return {name for name in topics(servers) if not name.startswith("__")}


def test_neither_asking_nor_copying_makes_a_topic_that_nobody_planned(tmp_path: Path) -> None:
    with KafkaCluster(name="eager", overrides={"auto.create.topics.enable": "true"}) as cluster:
        servers = cluster.bootstrap_servers
        create_topic(servers, "there", 1)
        produce(servers, "there", [{"value": b"0"}])
        file = write_flow(tmp_path, servers, servers, "there, missing", EXTRA)
        config = load_mirror_config(file)
        plan_mirror(config)
        survey_flows(config.flows)
        examine_clusters(config)
        assert made_on(servers) == {"there"}
        with mirroring(file) as mirror:
            alias = mirror.flow.source.alias
            mirror.await_topics(1)
            mirror.round(0.6)
            assert total(servers, f"{alias}.there") == 1
            admin = AdminClient({"bootstrap.servers": servers})
            admin.delete_topics(["there"])["there"].result(30)
            await_condition(lambda: "there" not in topics(servers), "the deletion", 15)
            mirror.await_topics(0)
        own = {f"mm2-{kind}.{alias}.internal" for kind in ("claims", "offsets", "status")}
        assert made_on(servers) == {f"{alias}.there"} | own
