"""What the real MirrorMaker 2 wrote, read by Kafka's own client and by ours: both say the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from sparkmirror.batch.codec import ZSTD
from sparkmirror.client import GroupOffsets, MirrorClient
from sparkmirror.embedded import MirrorMaker2
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import fetch_batch_at
from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce
from tests.support.mirror_clients import JavaMirrorClient, Question, ask_ours
from tests.support.mirror_process import properties

PARTITIONS = 3
RECORDS = 3000
COMMITTED = [1000, 500, 0]
SYNCS_READ = "Finished reading KafkaBasedLog for topic mm2-offset-syncs.B.internal"
INTERNAL = ("status.storage", "config.storage", "checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
SETTINGS = {
    "emit.checkpoints.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "offset.lag.max": "0",
    # Of checkpoints, too.
    "B.producer.compression.type": "zstd",
} | {f"{name}.replication.factor": "1" for name in INTERNAL}


def commit(servers: str, group: str, topic: str, offsets: list[int]) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    places = [TopicPartition(topic, p, offset, f"by {group}") for p, offset in enumerate(offsets)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.fixture
def heartbeats(pair: Pair) -> Iterator[str]:
    """On the source before MirrorMaker 2 looks for topics there, which it does again after ten minutes only."""
    create_topic(pair.source, "heartbeats", 1)
    yield "heartbeats"
    delete_topic(pair.source, "heartbeats")  # others share the source


@pytest.mark.timeout(240)
def test_both_clients_agree_on_what_mirrormaker_wrote(pair: Pair, topic: str, heartbeats: str) -> None:
    alias = f"M{uuid.uuid4().hex[:6]}"
    billing, shop = f"billing-{topic}", f"shop-{topic}"
    create_topic(pair.source, topic, PARTITIONS)
    for group in (billing, shop):
        commit(pair.source, group, topic, [0, 0])
    text = properties(pair.source, pair.target, topic, SETTINGS, alias=alias)
    question = Question(
        properties={"bootstrap.servers": pair.target},
        aliases=[alias, "nobody"],
        source=alias,
        group=billing,
        pattern=f".*{topic}",
    )
    with MirrorMaker2(text) as mirrormaker, MirrorClient(pair.target) as client:
        # Of offset syncs that are there already it keeps the newest alone, and groups behind that get no checkpoint.
        await_condition(lambda: SYNCS_READ in mirrormaker.log_path.read_text(), "the checkpoint task", 60)
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in range(RECORDS)))
        commit(pair.source, billing, topic, COMMITTED)
        commit(pair.source, shop, topic, [1, 999])

        def offsets_are_there() -> bool:
            groups = client.remote_consumer_offsets_matching(f".*{topic}", alias)
            return len(groups.get(billing, {})) == PARTITIONS and len(groups.get(shop, {})) == 2

        await_condition(offsets_are_there, "checkpoints of both groups", 120)
        await_condition(lambda: f"{alias}.{heartbeats}" in client.heartbeat_topics(), "heartbeats from afar", 60)
    java = JavaMirrorClient()
    try:
        theirs = java.ask(question)
    finally:
        java.close()
    ours = ask_ours(question)
    assert ours == theirs
    assert ours.hops == {alias: 1, "nobody": -1}
    assert f"{alias}.{topic}" in ours.remote_topics_from[alias]
    assert ours.matching.keys() == {billing, shop}
    # librdkafka commits the end of its C string, too.
    assert {row[3].rstrip("\0") for row in ours.offsets} == {f"by {billing}"}
    assert {row[0] for row in ours.offsets} == {f"{alias}.{topic}"}
    # How near MirrorMaker 2 comes to what the group committed is a matter of its timing.
    assert all(offset <= COMMITTED[p] for _, p, offset, _ in ours.offsets)
    assert codec_of(pair.target, f"{alias}.checkpoints.internal") == ZSTD
    with MirrorClient(pair.target) as client:
        offsets = client.remote_consumer_offsets(billing, alias)
    assert move_group(pair.target, billing, offsets) == {p: offset for _, p, offset, _ in ours.offsets}
    print(sorted(ours.offsets))


def codec_of(servers: str, topic: str) -> int:
    with Cluster(ClusterAddress(alias="B", bootstrap=(servers,))) as cluster:
        first = fetch_batch_at(cluster, cluster.fetch_metadata([topic]).topics[topic], 0, 0)
    assert first is not None
    return first[0].codec


def move_group(servers: str, group: str, offsets: GroupOffsets) -> dict[int, int]:
    """As the README has it; what is committed then."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    places = [TopicPartition(*place, found.offset) for place, found in offsets.items()]
    consumer.commit(offsets=places, asynchronous=False)
    committed = {place.partition: place.offset for place in consumer.committed(places, timeout=30)}
    consumer.close()
    return committed
