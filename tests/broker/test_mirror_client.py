"""Our client answers what Kafka's own MirrorClient answers, on the same cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.client import MirrorClient, OffsetAndMetadata, TopicPartition
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.checkpoints import encode_key, encode_value
from sparkmirror.offsets.internal_topic import InternalTopic
from tests.conftest import Pair
from tests.support.kafka_client import create_topic, produce, topics
from tests.support.mirror_clients import JavaMirrorClient, Question, ask_ours

CODECS = ("gzip", "snappy", "lz4", "zstd")
KAFKAS = "org.apache.kafka.connect.mirror."
TOKEN = f"t{os.getpid()}"
A, B, C = (f"{letter}{TOKEN}" for letter in "abc")
TOPICS = (
    f"{B}.heartbeats",
    f"{B}.{A}.heartbeats",
    f"{C}.{B}.{A}.heartbeats",
    f"{C}.{B}.{C}.d{TOKEN}.heartbeats",
    f"{A}.orders",
    f"{B}.{A}.orders",
    f"{A}..odd",
    f"{A}.",
    f"orders-{TOKEN}",
    f"my-{TOKEN}.internal",
    f"mm2-offset-syncs.{A}.internal",
    f"checkpoints.internal-{TOKEN}",
    f"{A}_clicks",
    f"{B}_{A}_clicks",
    f"_{TOKEN}",
    f"{C}_heartbeats",
    f"{C}_{A}_heartbeats",
)
POLICIES: dict[str, dict[str, str]] = {
    "default": {},
    "separator": {"replication.policy.separator": "_"},
    "dots inside": {
        "replication.policy.separator": "_",
        "replication.policy.internal.topic.separator.enabled": "false",
    },
    "identity": {"replication.policy.class": KAFKAS + "IdentityReplicationPolicy", "source.cluster.alias": A},
    "identity of nobody": {"replication.policy.class": KAFKAS + "IdentityReplicationPolicy"},
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster with topics of many origins and the checkpoints of groups of A."""

    servers: str
    java: JavaMirrorClient


@pytest.fixture(scope="module")
def stage(pair: Pair) -> Iterator[Stage]:
    admin = AdminClient({"bootstrap.servers": pair.target})
    for made in admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS]).values():
        made.result(timeout=30)
    if "heartbeats" not in topics(pair.target):
        create_topic(pair.target, "heartbeats")
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as cluster:
        for name in (f"{A}.checkpoints.internal", f"{B}_checkpoints_internal"):
            write_checkpoints(cluster, name)
    for codec in CODECS:
        checkpoint = {"key": encode_key(f"{codec}-{TOKEN}", f"{A}.orders", 1), "value": encode_value(9, 8, codec)}
        produce(pair.target, f"{A}.checkpoints.internal", [checkpoint | {"partition": 0}], compression_type=codec)
    java = JavaMirrorClient()
    yield Stage(pair.target, java)
    java.close()


def write_checkpoints(cluster: Cluster, name: str) -> None:
    """The last one of a partition counts; what is no checkpoint is passed over."""
    topic = InternalTopic(cluster, name, partitions=1, replication_factor=1)
    topic.ensure()
    key = encode_key("billing", f"{A}.orders", 0)
    topic.append(
        0, [(key, encode_value(10, 20, "early")), (encode_key("billing", f"{A}.orders", 1), encode_value(0, 0))]
    )
    topic.append(0, [(b"no checkpoint", b"at all"), (key, b"\0\0\0"), (b"\0\x07billing", encode_value(1, 1))])
    others = [(encode_key(f"shop-{n}", "clicks", n), encode_value(2**40, 2**62 + n, "größer")) for n in range(3)]
    topic.append(
        0, [*others, (key, encode_value(12, 22, "late")), (encode_key("Shop-1", "clicks", 0), encode_value(1, 1))]
    )


@pytest.mark.parametrize("name", POLICIES)
def test_both_clients_say_the_same_of_topics(stage: Stage, name: str) -> None:
    properties = {"bootstrap.servers": stage.servers} | POLICIES[name]
    question = Question(properties=properties, aliases=[A, B, C, f"d{TOKEN}", "nobody"])
    ours = ask_ours(question).about(TOKEN)
    assert ours == stage.java.ask(question).about(TOKEN)
    assert ours.heartbeat_topics and ours.upstream_clusters
    assert ours.checkpoint_topics == {
        f"{B}_checkpoints_internal" if name == "separator" else f"{A}.checkpoints.internal"
    }


def test_hops_are_those_of_the_shortest_way(stage: Stage) -> None:
    with MirrorClient(stage.servers) as client:
        assert [client.replication_hops(alias) for alias in (A, B, C, "nobody")] == [2, 1, 1, -1]
        assert {A, B, C} <= client.upstream_clusters()
        assert client.remote_topics(A) == {f"{A}.orders", f"{A}..odd"}


@pytest.mark.parametrize(("separator", "source"), [(".", A), ("_", B)], ids=["dot", "underscore"])
def test_both_clients_find_the_same_offsets(stage: Stage, separator: str, source: str) -> None:
    properties = {"bootstrap.servers": stage.servers, "replication.policy.separator": separator}
    pattern = rf"shop-[12]|.*-{TOKEN}"
    question = Question(properties=properties, aliases=[], source=source, group="billing", pattern=pattern)
    ours, javas = ask_ours(question), stage.java.ask(question)
    assert (ours.offsets, ours.matching) == (javas.offsets, javas.matching)
    assert ours.offsets == {(f"{A}.orders", 0, 22, "late"), (f"{A}.orders", 1, 0, "")}
    assert ours.matching["shop-2"] == {("clicks", 2, 2**62 + 2, "größer")}
    compressed = {f"{codec}-{TOKEN}" for codec in CODECS} if source == A else set()
    assert ours.matching.keys() == {"shop-1", "shop-2"} | compressed


def test_a_group_without_checkpoints_and_a_cluster_without_a_topic_have_no_offsets(stage: Stage) -> None:
    with MirrorClient(stage.servers) as client:
        assert client.remote_consumer_offsets("nobody", A, 10) == {}
        assert client.remote_consumer_offsets_matching("bill", A, 10) == {}, "the whole name must match"
        assert client.remote_consumer_offsets("billing", f"nowhere{TOKEN}", 10) == {}
        found = client.remote_consumer_offsets("billing", A, 10)
        assert found[TopicPartition(f"{A}.orders", 0)] == OffsetAndMetadata(22, "late")
    assert f"nowhere{TOKEN}.checkpoints.internal" not in topics(stage.servers)
