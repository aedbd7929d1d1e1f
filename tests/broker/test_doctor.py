"""`sparkmirror doctor` on real clusters: what is well passes, each fault is named with its cure. Spark is left out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.doctor.verdict import Level, Verdict
from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, topics

ONE = {"replication.internal.topic.replication.factor": "1"}


def examined(file: Path) -> list[Verdict]:
    verdicts = examine_clusters(load_mirror_config(file))
    for verdict in verdicts:
        print(*(getattr(verdict, name) for name in Verdict.__slots__), sep=" | ")
    assert all(bool(v.cure) == (v.level is not Level.PASS) for v in verdicts)
    return verdicts


def troubles(verdicts: list[Verdict]) -> dict[tuple[str, str], Verdict]:
    return {(v.about, v.check): v for v in verdicts if v.level is not Level.PASS}


def set_on_broker(servers: str, name: str, value: str | None) -> None:
    """None removes."""
    kind = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=kind)
    resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": servers})
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_what_is_well_passes_and_nothing_is_made(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    file = write_flow(tmp_path, pair.source, pair.target, topic, ONE)
    alias = only_flow(file).source.alias
    before = topics(pair.source), topics(pair.target)
    verdicts = examined(file)
    assert troubles(verdicts) == {}
    of_clusters = {"reach", "names", "versions", "clock"}
    of_flows = {"topics", "partitions", "start", "mirrormaker", "rights", "replicas", "sizes", "producers"}
    assert {v.check for v in verdicts if v.about == "B"} == of_clusters
    assert {v.check for v in verdicts if v.about == f"{alias}->B"} == of_flows
    assert {v.check for v in verdicts if v.about == f"B->{alias}"} == {"rights", "replicas"}, "it emits heartbeats"
    assert (topics(pair.source), topics(pair.target)) == before


def test_a_wrong_port_hides_nothing_else(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    file = write_flow(tmp_path, pair.source, "127.0.0.1:1", topic, ONE)
    alias = only_flow(file).source.alias
    began = time.monotonic()
    verdicts = examined(file)
    assert time.monotonic() - began < 10
    found = troubles(verdicts)
    assert found.keys() == {("B", "reach"), (f"{alias}->B", "flow")}
    assert found["B", "reach"].level is Level.FAIL
    assert "127.0.0.1:1 can't be reached: [Errno 111] Connection refused" in found["B", "reach"].said
    assert "B.bootstrap.servers" in found["B", "reach"].cure
    assert found[f"{alias}->B", "flow"].level is Level.SKIP
    assert ("PASS", alias, "names") in {(v.level, v.about, v.check) for v in verdicts}


def test_a_broker_that_advertises_another_place_is_named_with_the_cure(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    overrides = {"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}
    with KafkaCluster(name="lost", overrides=overrides) as lost:
        file = write_flow(tmp_path, pair.source, lost.bootstrap_servers, topic, ONE)
        verdicts = examined(file)
    verdict = troubles(verdicts)["B", "names"]
    assert verdict.level is Level.FAIL
    assert verdict.said.startswith("broker 1 of cluster B advertises 127.0.0.1:1: 127.0.0.1:1 can't be reached")
    assert "advertised.listeners of broker 1" in verdict.cure
    assert {"reach", "versions"} <= {v.check for v in verdicts if v.about == "B" and v.level is Level.PASS}


def test_factors_that_the_cluster_can_not_have_are_named_by_key(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}, {topic}-x*", {"replication.factor": "3", **ONE})
    alias = only_flow(file).source.alias
    found = troubles(examined(file))
    assert found.keys() == {("file", "replicas"), (f"{alias}->B", "topics")}
    assert f"matches {topic}-x*, or the user may not see it" in found[f"{alias}->B", "topics"].said
    verdict = found["file", "replicas"]
    assert verdict.level is Level.FAIL
    assert verdict.said == f"cluster B has 1 live broker, too few for replication.factor = 3 ({alias}.{topic})"


def test_records_that_the_target_would_not_take_are_warned_of(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1, config={"max.message.bytes": "20000000"})
    limits: Mapping[str, str] = {"config.properties.exclude": "max.message.bytes", **ONE}
    file = write_flow(tmp_path, pair.source, pair.target, topic, limits)
    flow = only_flow(file).name
    said = [v.said for v in examined(file) if (v.about, v.check, v.level) == (flow, "sizes", "WARN")]
    assert any("records of 20000000 bytes" in text and "the target of 8388608" in text for text in said)


def test_a_target_that_forgets_producers_soon_is_warned_of(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    file = write_flow(tmp_path, pair.source, pair.target, topic, ONE)
    flow = only_flow(file).name

    def is_warned() -> bool:
        found = troubles(examined(file)).get((flow, "producers"))
        return found is not None and "producer.id.expiration.ms of cluster B is 8000" in found.said

    set_on_broker(pair.target, "producer.id.expiration.ms", "8000")
    try:
        await_condition(is_warned, "the broker to take the setting", 15)
    finally:
        set_on_broker(pair.target, "producer.id.expiration.ms", None)


def test_every_release_can_be_examined(versioned: KafkaCluster, topic: str, tmp_path: Path) -> None:
    create_topic(versioned.bootstrap_servers, topic, 1)
    servers = versioned.bootstrap_servers
    verdicts = examined(write_flow(tmp_path, servers, servers, topic, ONE))
    found = troubles(verdicts)
    assert all(verdict.level is not Level.FAIL for verdict in found.values())
    is_old = versioned.version.startswith(("2.", "3.2"))
    skipped = {check for (_, check), verdict in found.items() if verdict.level is Level.SKIP}
    assert skipped <= {"clock", "producers"} and ("clock" in skipped) == is_old
    assert (("B", "versions") in found) == versioned.version.startswith("2.")
