"""A source on which the mirror's user may READ topics and DESCRIBE groups: all works, nothing is written there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic, ResourceType

from sparkmirror.client import MirrorClient
from sparkmirror.client import TopicPartition as Remote
from tests.conftest import Pair
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS
from tests.support.guarded import ALLOW, AS_ADMIN, TOPIC, Guarded, start_guarded
from tests.support.kafka_client import await_condition, produce, total
from tests.support.mirror_process import MirrorProcess, properties

ALIAS = "guarded"
RECORDS = 300


@pytest.fixture
def source() -> Iterator[Guarded]:
    cluster, for_admin = start_guarded()
    with cluster:
        guarded = Guarded(cluster, for_admin, AdminClient({"bootstrap.servers": for_admin, **AS_ADMIN}))
        guarded.add(TOPIC, "*", AclOperation.READ, ALLOW)
        guarded.add(ResourceType.GROUP, "*", AclOperation.DESCRIBE, ALLOW)
        yield guarded


def as_admin(guarded: Guarded, group: str = "looks") -> Consumer:
    return Consumer({"bootstrap.servers": guarded.for_admin, "group.id": group, **AS_ADMIN})


def all_ends(guarded: Guarded) -> dict[tuple[str, int], int]:
    """Every topic of the cluster, those of Kafka's own too, and where its partitions end."""
    consumer = as_admin(guarded)
    try:
        found = consumer.list_topics(timeout=30).topics
        places = [(name, p) for name, topic in found.items() for p in topic.partitions]
        return {place: consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)[1] for place in places}
    finally:
        consumer.close()


@pytest.mark.timeout(240)
def test_mirroring_checkpoints_and_group_sync_write_nothing_to_the_source(
    pair: Pair, source: Guarded, topic: str
) -> None:
    settings = {key.replace(".", "_"): value for key, value in AS_ADMIN.items()}
    source.admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
    rows = ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS))
    produce(source.for_admin, topic, rows, **settings)
    reader = as_admin(source, topic)
    reader.commit(offsets=[TopicPartition(topic, 0, 100), TopicPartition(topic, 1, 40)], asynchronous=False)
    reader.close()
    before = all_ends(source)
    extra = KEYS | {
        "groups": topic,
        "offset-syncs.topic.location": "target",
        "emit.checkpoints.interval.seconds": "2",
        "sync.group.offsets.interval.seconds": "2",
        "offset.lag.max": "0",
        "sync.topic.configs.enabled": "false",  # these two need other rights
        "sync.topic.acls.enabled": "false",
    }
    remotes = [(f"{ALIAS}.{topic}", p) for p in range(2)]
    text = properties(source.servers, pair.target, topic, extra, alias=ALIAS)
    with MirrorProcess(text) as mirror:
        await_condition(
            lambda: committed(pair.target, topic, remotes) == dict(zip(remotes, (100, 40), strict=True)),
            "the sync",
            120,
        )
        assert total(pair.target, remotes[0][0]) == RECORDS
        syncs = f"mm2-offset-syncs.{ALIAS}.internal"
        await_condition(lambda: total(pair.target, syncs) > 0, "offset syncs, which are written every two seconds", 10)
        with MirrorClient(pair.target) as client:
            found = client.remote_consumer_offsets(topic, ALIAS)
        assert {place: found[Remote(*place)].offset for place in remotes} == dict(zip(remotes, (100, 40), strict=True))
        assert mirror.terminate()[0] == 0
        log = mirror.log()
    assert all_ends(source) == before
    refused = [line for line in log.splitlines() if "AUTHORIZATION" in line]
    print("\n".join(refused))
    assert len(refused) == 1 and "it gets the target's" in refused[0], "writing was not even tried"
