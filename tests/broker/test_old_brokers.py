"""Our own client against each Kafka version: the newest words that both sides know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from kafka.record.memory_records import MemoryRecordsBuilder

from sparkmirror.embedded import KafkaCluster
from sparkmirror.errors import BrokerError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import NO_TOPIC_ID, Cluster, Leader, TopicInfo
from sparkmirror.net.log import append_batch, fetch_batch_at, fetch_partition, read_log
from sparkmirror.net.offsets import (
    EARLIEST,
    LATEST,
    EpochEnd,
    can_describe_producers,
    describe_producer,
    fetch_epoch_ends,
    list_offsets,
)
from sparkmirror.net.topics import TopicShape, create_topic
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.protocol import codes, fetch, produce
from sparkmirror.topology.storage import Storage
from tests.support.batches import simple_batch
from tests.support.kafka_client import await_condition

pytestmark = pytest.mark.timeout(240)  # a version's first use fetches it

PRODUCER_ID = 4711


@pytest.fixture
def cluster(versioned: KafkaCluster) -> Iterator[Cluster]:
    with connect(versioned) as cluster:
        yield cluster


def connect(cluster: KafkaCluster) -> Cluster:
    return Cluster(ClusterAddress(alias=cluster.name, bootstrap=tuple(cluster.bootstrap_servers.split(","))))


def make_topic(cluster: Cluster, name: str, partitions: int = 1) -> TopicInfo:
    """A new topic whose leaders know that they lead."""
    create_topic(cluster, TopicShape(name, partitions, 1))

    def look() -> TopicInfo:
        return cluster.fetch_metadata([name]).topics[name]

    await_condition(lambda: len(list_offsets(cluster, leaders_of(look()), LATEST)) == partitions, "leaders")
    return look()


def leaders_of(topic: TopicInfo) -> dict[tuple[str, int], Leader]:
    return {(topic.name, p): leader for p, leader in topic.leaders.items()}


def sequenced(sequence: int) -> bytes:
    """A batch of one record of our producer."""
    builder = MemoryRecordsBuilder(
        magic=2,
        compression_type=0,
        batch_size=1 << 16,
        producer_id=PRODUCER_ID,
        producer_epoch=0,
        base_sequence=sequence,
    )
    builder.append(None, None, b"v")
    builder.close()
    return bytes(builder.buffer())


def test_topics_have_ids_where_the_broker_has_them(cluster: Cluster, versioned: KafkaCluster, topic: str) -> None:
    info = make_topic(cluster, topic, 3)
    assert sorted(info.leaders) == [0, 1, 2]
    assert (info.topic_id == NO_TOPIC_ID) == (versioned.version == "2.4.1")
    with pytest.raises(BrokerError) as caught:
        create_topic(cluster, TopicShape("not a name", 1, 1))
    assert caught.value.code == 17  # INVALID_TOPIC_EXCEPTION


def test_hot_path_speaks_by_id_from_the_version_on_that_can(cluster: Cluster, versioned: KafkaCluster) -> None:
    channel = cluster.connect(next(iter(cluster.fetch_metadata().brokers)))
    channel.close()
    assert channel.supports(fetch.API_KEY, fetch.BY_NAME) and channel.supports(produce.API_KEY, produce.BY_NAME)
    assert channel.supports(fetch.API_KEY, fetch.BY_ID) == (versioned.version != "2.4.1")
    assert channel.supports(produce.API_KEY, produce.BY_ID) == (versioned.version == "4.3.1")


def test_batches_are_appended_and_read_back(cluster: Cluster, topic: str) -> None:
    info = make_topic(cluster, topic)
    assert [append_batch(cluster, info, 0, bytes(simple_batch(0, 5))) for _ in range(3)] == [0, 5, 10]
    assert [header.first for header, _ in read_log(cluster, info, 0, 0, 15)] == [0, 5, 10]
    fetched = fetch_partition(cluster, info, 0, 0)
    assert (fetched.error, fetched.high_watermark, fetched.log_start) == (codes.NONE, 15, 0)
    found = fetch_batch_at(cluster, info, 0, 7)
    assert found is not None and found[0].first == 5
    assert fetch_batch_at(cluster, info, 0, 99) is None


def test_ends_of_a_log_with_an_open_transaction(cluster: Cluster, versioned: KafkaCluster, topic: str) -> None:
    info = make_topic(cluster, topic)
    append_batch(cluster, info, 0, bytes(simple_batch(0, 5)))
    producer = Producer({"bootstrap.servers": versioned.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(30)
    leaders, place = leaders_of(info), (topic, 0)
    assert list_offsets(cluster, leaders, EARLIEST) == {place: 0}
    assert list_offsets(cluster, leaders, LATEST) == {place: 6}
    assert list_offsets(cluster, leaders, LATEST, log_end=True) == {place: 6}
    assert list_offsets(cluster, leaders, LATEST, committed=True) == {place: 5}
    epoch = leaders[place].epoch
    assert fetch_epoch_ends(cluster, leaders, {place: epoch}) == {place: EpochEnd(epoch, 6)}
    producer.abort_transaction(30)


def test_producer_is_described_or_said_to_be_unknown(cluster: Cluster, versioned: KafkaCluster, topic: str) -> None:
    info = make_topic(cluster, topic)
    append_batch(cluster, info, 0, sequenced(0))
    leaders, node = leaders_of(info), info.leaders[0].node
    assert can_describe_producers(cluster, node) == (versioned.version != "2.4.1")
    if not can_describe_producers(cluster, node):
        assert describe_producer(cluster, leaders, PRODUCER_ID) == {(topic, 0): None}
        return
    state = describe_producer(cluster, leaders, PRODUCER_ID)[topic, 0]
    assert state is not None and state.last_sequence == 0
    assert describe_producer(cluster, leaders, PRODUCER_ID + 1) == {(topic, 0): None}


def test_first_sequence_may_be_any_but_in_the_oldest_version(
    cluster: Cluster, versioned: KafkaCluster, topic: str
) -> None:
    """KIP-360 (2.5): before, a leader that knows nothing of a producer takes only its sequence 0."""
    info = make_topic(cluster, topic)
    first = 100
    if versioned.version == "2.4.1":
        with pytest.raises(BrokerError) as caught:
            append_batch(cluster, info, 0, sequenced(first))
        assert caught.value.code == codes.UNKNOWN_PRODUCER_ID
        first = 0
    assert append_batch(cluster, info, 0, sequenced(first)) == 0
    assert append_batch(cluster, info, 0, sequenced(first + 1)) == 1
    assert append_batch(cluster, info, 0, sequenced(first + 1)) == 1, "the duplicate's own offset is told"
    with pytest.raises(BrokerError) as caught:
        append_batch(cluster, info, 0, sequenced(first + 7))
    assert caught.value.code == codes.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_internal_topics_are_written_and_read(cluster: Cluster, topic: str) -> None:
    kept = InternalTopic(cluster, topic, partitions=25, replication_factor=1)
    kept.ensure()
    records: dict[bytes, bytes | None] = {b"%d" % i: b"value" for i in range(50)}
    kept.append_keyed(records)
    assert {record.key: record.value for record in kept.read()} == records


def test_producer_id_is_claimed_once_and_the_lead_is_taken(cluster: Cluster, topic: str) -> None:
    one, two = (Claims(cluster, Storage.named(topic), 1) for _ in range(2))
    assert one.claim_producer_id() == two.claim_producer_id() >= 0
    one.lead(20.0)
    assert one.leads()
    two.lead(20.0)
    one.refresh()
    assert two.leads() and not one.leads()


def test_topics_without_ids_are_named_though_the_broker_knows_ids() -> None:
    """As after a rolling upgrade whose `inter.broker.protocol.version` was not raised yet."""
    old = {"inter.broker.protocol.version": "2.7"}
    with KafkaCluster(version="3.2.0", overrides=old) as brokers, connect(brokers) as cluster:
        info = make_topic(cluster, "nameless")
        assert info.topic_id == NO_TOPIC_ID
        channel = cluster.connect(info.leaders[0].node)
        channel.close()
        assert not channel.supports(fetch.API_KEY, fetch.BY_ID)
        assert append_batch(cluster, info, 0, bytes(simple_batch(0, 5))) == 0
        assert fetch_partition(cluster, info, 0, 0).high_watermark == 5


@pytest.mark.long
def test_controller_that_moved_is_found() -> None:
    """With ZooKeeper only the controller makes topics, and one that was restarted is it no more."""
    with KafkaCluster(2, version="2.4.1") as brokers, connect(brokers) as cluster:
        create_topic(cluster, TopicShape("before", 1, 1))
        first = cluster.fetch_metadata([]).controller
        (broker,) = [b for b in brokers.brokers if b.id == first]
        broker.stop()
        broker.start()
        broker.wait_ready(sees=frozenset({1, 2}))
        create_topic(cluster, TopicShape("after", 1, 1))
        await_condition(lambda: not cluster.fetch_metadata(["after"]).topics["after"].error, "the new topic")
        assert cluster.fetch_metadata([]).controller != first
