"""MirrorMaker 2 and sparkmirror on the same source and the same file, each into a cluster of its own.

Topics, partitions, replicas, configurations and rights are compared. What differs is listed here and explained in
COMPATIBILITY.md ("Side by side"), and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType

from sparkmirror.embedded import KafkaCluster, MirrorMaker2, start_clusters
from tests.long.conftest import AUTHORIZER
from tests.support.kafka_client import (
    assert_same,
    await_condition,
    create_topic,
    delete_topic,
    produce,
    read_all,
    topics,
    total,
    watermarks,
)
from tests.support.mirror_process import MirrorProcess
from tests.support.topic_admin import KEEPS_TIMES, add_acls, binding, replicas, topic_acls, topic_configs

pytestmark = pytest.mark.timeout(400)

RECORDS = 200
SETTINGS = """
clusters = A, B
A->B.enabled = true
topics = .*
replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
config.storage.replication.factor = 1
refresh.topics.interval.seconds = 1
sync.topic.configs.interval.seconds = 1
sync.topic.acls.interval.seconds = 1
"""
# Name, partitions, configurations.
SOURCE = [
    ("plain", 1, {}),
    ("kept", 3, {"retention.ms": "7200000"}),
    ("three_wide", 3, {"retention.ms": "3600000", "max.message.bytes": "2000000", "compression.type": "lz4"}),
    ("compacted", 2, {"cleanup.policy": "compact", "segment.ms": "60000", "min.insync.replicas": "1"}),
    ("stamped", 1, {"message.timestamp.type": "LogAppendTime", "unclean.leader.election.enable": "true"}),
    ("late", 1, {"message.timestamp.before.max.ms": "3600000000000", "delete.retention.ms": "1000"}),
    ("data.internal", 1, {}),
    ("mm2-data.internal", 1, {}),
    ("old.replica", 1, {}),
    ("B.back", 1, {}),
    ("C.further", 1, {}),
    (".hidden", 1, {}),
    ("__hidden", 1, {}),
]
MIRRORED = ("plain", "kept", "three_wide", "compacted", "stamped", "late", "data.internal", "C.further")
READ, WRITE, ALL, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.ALL, AclOperation.DESCRIBE
RIGHTS = (
    binding("plain", READ, "User:reader"),
    binding("plain", WRITE, "User:writer"),
    binding("plain", ALL, "User:owner"),
    binding("plain", DESCRIBE, "User:watcher"),
    binding("plain", WRITE, "User:outsider", AclPermissionType.DENY),
    binding("plain", ALL, "User:nobody", AclPermissionType.DENY),
    binding("kept", READ, "User:*"),
    binding("old.replica", READ, "User:reader"),
    binding("not-there", READ, "User:reader"),
    binding("pla", READ, "User:prefixed", pattern=ResourcePatternType.PREFIXED),
    binding("*", READ, "User:everywhere"),
)


@dataclass(frozen=True)
class Topic:
    partitions: int
    replicas: int
    configs: dict[str, str]


@dataclass(frozen=True)
class Picture:
    """What somebody sees who looks at a cluster."""

    topics: dict[str, Topic]
    rights: set[AclBinding]


def without_times(topic: Topic) -> Topic:
    return replace(topic, configs={name: v for name, v in topic.configs.items() if name not in KEEPS_TIMES})


def look(servers: str) -> Picture:
    counts = {name: count for name, count in replicas(servers).items() if name != "__consumer_offsets"}
    found = {name: Topic(len(watermarks(servers, name)), n, topic_configs(servers, name)) for name, n in counts.items()}
    return Picture(found, topic_acls(servers))


@pytest.fixture
def clusters() -> Iterator[dict[str, str]]:
    made = [KafkaCluster(name=f"parity-{name}", heap_mb=256, overrides=AUTHORIZER) for name in ("A", "theirs", "ours")]
    start_clusters(*made)
    try:
        yield {cluster.name.removeprefix("parity-"): cluster.bootstrap_servers for cluster in made}
    finally:
        for cluster in made:
            cluster.stop()


def prepare(clusters: dict[str, str]) -> None:
    for name, partitions, config in SOURCE:
        create_topic(clusters["A"], name, partitions, config=config)
        produce(clusters["A"], name, ({"key": b"%d" % i, "value": b"%d" % i} for i in range(RECORDS)))
    add_acls(clusters["A"], *RIGHTS)
    for target in (clusters["theirs"], clusters["ours"]):
        # Somebody was here before: fewer partitions, and a setting by hand.
        create_topic(target, "A.kept", 1, config={"delete.retention.ms": "5000"})


def text(clusters: dict[str, str], target: str) -> str:
    return SETTINGS + f"A.bootstrap.servers = {clusters['A']}\nB.bootstrap.servers = {clusters[target]}\n"


def await_all(clusters: dict[str, str], target: str) -> None:
    servers = clusters[target]
    for name in MIRRORED:
        await_condition(
            lambda n=f"A.{name}": n in topics(servers) and total(servers, n) >= RECORDS,  # type: ignore[misc]
            f"A.{name} at {target}",
            90,
        )
    await_condition(lambda: "retention.ms" in topic_configs(servers, "A.kept"), "configurations", 60)
    await_condition(lambda: bool(topic_acls(servers)), "rights", 60)
    for name in ("heartbeats", "A.heartbeats"):
        await_condition(lambda n=name: n in topics(servers) and total(servers, n) > 10, name, 60)  # type: ignore[misc]


def take_back(servers: str, before: Picture) -> Picture:
    """What was made there since, and is deleted again."""
    after = look(servers)
    new = {name: topic for name, topic in after.topics.items() if name not in before.topics}
    for name in new:
        delete_topic(servers, name)
    await_condition(lambda: not new.keys() & topics(servers), "the end of topics")
    return Picture(new, after.rights - before.rights)


def test_side_by_side(clusters: dict[str, str]) -> None:
    prepare(clusters)
    before = look(clusters["A"])
    with MirrorMaker2(text(clusters, "theirs")):
        await_all(clusters, "theirs")
    theirs, theirs_on_source = look(clusters["theirs"]), take_back(clusters["A"], before)
    with MirrorProcess(text(clusters, "ours")) as mirror:
        await_all(clusters, "ours")
        assert mirror.terminate()[0] == 0
    ours, ours_on_source = look(clusters["ours"]), take_back(clusters["A"], before)
    # Connect's configurations are nobody's here, and claims are ours alone.
    assert theirs.topics.keys() - ours.topics.keys() == {"mm2-configs.A.internal"}
    assert ours.topics.keys() - theirs.topics.keys() == {"mm2-claims.A.internal"}
    # Topics that a driver reads from their beginning have small segments.
    small = {"A.checkpoints.internal", "mm2-offsets.A.internal", "mm2-status.A.internal"}
    for name in small:
        assert ours.topics[name].configs.pop("segment.bytes") == "1048576"
    both = theirs.topics.keys() & ours.topics.keys()
    assert {n for n in both if theirs.topics[n] != without_times(ours.topics[n])} == {"A.kept"}
    # Records keep their times, whatever the brokers' default.
    assert {n for n in both if ours.topics[n] != without_times(ours.topics[n])} >= {"A.plain", "A.stamped"}
    # What somebody set by hand on a remote topic stays here.
    assert theirs.topics["A.kept"] == Topic(3, 1, {"retention.ms": "7200000"})
    assert ours.topics["A.kept"] == Topic(3, 1, {"retention.ms": "7200000", "delete.retention.ms": "5000"})
    # The workers of the way back keep themselves busy on the source.
    assert theirs_on_source.topics.keys() - ours_on_source.topics.keys() == {
        f"mm2-{kind}.B.internal" for kind in ("configs", "offsets", "status")
    }
    assert ours_on_source.topics.items() <= theirs_on_source.topics.items()
    assert ours_on_source.topics.keys() == {"heartbeats", "mm2-offset-syncs.B.internal"}
    # A right on `*`, or on a topic that is not there, is none on a remote topic.
    assert {acl.name for acl in theirs.rights - ours.rights} == {"A.*", "A.not-there"}
    assert ours.rights < theirs.rights and ours.rights
    assert theirs_on_source.rights == ours_on_source.rights == set()
    for name in MIRRORED:
        assert_same(read_all(clusters["theirs"], f"A.{name}"), read_all(clusters["ours"], f"A.{name}"))
