"""Groups of real consumers: listed, described, their offsets fetched, written and deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, TopicPartition

from sparkmirror.embedded import KafkaCluster
from sparkmirror.errors import BrokerError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, delete_group_offsets, fetch_group_offsets
from sparkmirror.net.groups import DEAD, EMPTY, GroupState, delete_groups, describe_groups, list_groups
from sparkmirror.protocol import codes, offset_fetch
from sparkmirror.protocol.committed import Committed, Partition
from tests.conftest import Pair
from tests.support.group_members import PlantedMember, commit, committed, consuming, join_share_group
from tests.support.kafka_client import DEADLINE_S, await_condition, create_topic

STABLE = "Stable"


def code_of(answer: object) -> int:
    assert isinstance(answer, BrokerError), answer
    return answer.code


def state_of(cluster: Cluster, group: str) -> GroupState:
    state = describe_groups(cluster, [group])[group]
    assert isinstance(state, GroupState), state
    return state


def connect(cluster: KafkaCluster) -> Cluster:
    return Cluster(ClusterAddress(alias="G", bootstrap=(cluster.bootstrap_servers,)))


def test_every_version_takes_what_the_mirror_does_to_groups(
    versioned: KafkaCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = versioned.bootstrap_servers
    create_topic(servers, topic, 3)
    active, idle, absent = f"active-{topic}", f"idle-{topic}", f"absent-{topic}"
    theirs = {(topic, 0): Committed(7, "why", 0), (topic, 2): Committed(9)}
    ours = {(topic, p): Committed(40 + p, "ours" * p, -1) for p in range(3)}
    both: dict[str, dict[Partition, Committed]] = {active: ours, idle: ours}
    with connect(versioned) as cluster:
        with consuming(servers, active, topic) as consumer:
            stored = commit(consumer, theirs)
            states = describe_groups(cluster, [active, absent])
            assert states == {active: GroupState(STABLE, "classic", 1, "consumer"), absent: GroupState(DEAD)}
            answers = commit_group_offsets(cluster, both | {absent: {}})
            assert code_of(answers.pop(active)) == codes.UNKNOWN_MEMBER_ID
            assert answers == {idle: dict.fromkeys(ours, 0), absent: {}}, "the refused one does no harm to others"
            assert fetch_group_offsets(cluster, [active, idle, absent]) == {active: stored, idle: ours, absent: {}}
            assert code_of(delete_groups(cluster, [active])[active]) == codes.NON_EMPTY_GROUP
            refused = delete_group_offsets(cluster, active, [(topic, 0)])
            assert refused == {(topic, 0): codes.GROUP_SUBSCRIBED_TO_TOPIC}
        await_condition(lambda: state_of(cluster, active) == GroupState(EMPTY, "classic", 0, "consumer"), "its end")
        nowhere = ("not-there", 0)
        answers = commit_group_offsets(cluster, {active: ours | {nowhere: Committed(1)}})
        assert answers == {active: dict.fromkeys(ours, 0) | {nowhere: codes.UNKNOWN_TOPIC_OR_PARTITION}}
        assert committed(servers, active, list(ours)) == {place: c.offset for place, c in ours.items()}

        listing = list_groups(cluster)
        assert not listing.failed
        assert listing.groups[active].reads_topics
        assert listing.groups[idle].reads_topics, "made by our commit alone"
        assert listing.groups[active].protocol_type == "consumer"
        assert listing.groups[active].state == ("" if versioned.version == "2.4.1" else EMPTY)
        assert listing.groups[active].type == ("classic" if versioned.version > "3.8" else "")

        everything = fetch_group_offsets(cluster, [active, idle, absent], require_stable=True)
        assert everything == {active: ours, idle: ours, absent: {}}
        for older in ((7, 5), (5,)):
            monkeypatch.setattr(offset_fetch, "VERSIONS", older)
            assert fetch_group_offsets(cluster, [active, idle, absent], require_stable=True) == everything

        gone = delete_group_offsets(cluster, active, [(topic, 0), (topic, 2)])
        assert gone == {(topic, 0): 0, (topic, 2): 0}
        assert fetch_group_offsets(cluster, [active]) == {active: {(topic, 1): ours[topic, 1]}}
        assert delete_groups(cluster, [active, idle, absent]) == {}
        assert describe_groups(cluster, [active]) == {active: GroupState(DEAD)}
        assert active not in list_groups(cluster).groups
        with pytest.raises(BrokerError) as caught:
            delete_group_offsets(cluster, active, [(topic, 0)])
        assert caught.value.code == codes.GROUP_ID_NOT_FOUND


@pytest.fixture
def cluster(pair: Pair) -> Iterator[Cluster]:
    with connect(pair.a) as cluster:
        yield cluster


def test_groups_of_the_consumer_protocol(pair: Pair, cluster: Cluster, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    group = f"consumer-{topic}"
    theirs = {(topic, 0): Committed(3, "why", 0)}
    ours = {(topic, 0): Committed(5), (topic, 1): Committed(6, "ours")}
    with consuming(pair.source, group, topic, "consumer") as consumer:
        stored = commit(consumer, theirs)
        assert state_of(cluster, group) == GroupState(STABLE, "consumer", 1, "consumer")
        assert code_of(commit_group_offsets(cluster, {group: ours})[group]) == codes.UNKNOWN_MEMBER_ID
        assert fetch_group_offsets(cluster, [group]) == {group: stored}
    await_condition(lambda: state_of(cluster, group).state == EMPTY, "its member to leave")
    listed = list_groups(cluster).groups[group]
    assert (listed.type, listed.state, listed.reads_topics) == ("consumer", EMPTY, True)
    assert commit_group_offsets(cluster, {group: ours}) == {group: dict.fromkeys(ours, 0)}
    assert fetch_group_offsets(cluster, [group]) == {group: ours}
    assert delete_groups(cluster, [group]) == {}
    assert state_of(cluster, group) == GroupState(DEAD)


def test_groups_that_are_not_consumers_are_told_apart(pair: Pair, cluster: Cluster, topic: str) -> None:
    create_topic(pair.source, topic)
    share, workers = f"share-{topic}", f"workers-{topic}"
    join_share_group(cluster, share, topic)
    PlantedMember(cluster, workers).join()
    listed = list_groups(cluster).groups
    assert (listed[share].type, listed[share].protocol_type, listed[share].reads_topics) == ("share", "share", False)
    assert (listed[workers].type, listed[workers].protocol_type) == ("classic", "connect")
    assert not listed[workers].reads_topics
    states = describe_groups(cluster, [share, workers])
    assert states[share] == GroupState(DEAD)
    assert code_of(commit_group_offsets(cluster, {share: {(topic, 0): Committed(1)}})[share])


def test_what_an_open_transaction_commits_is_not_stable(pair: Pair, cluster: Cluster, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    group = f"pending-{topic}"
    before = {(topic, 0): Committed(1), (topic, 1): Committed(1)}
    commit_group_offsets(cluster, {group: before})
    producer = Producer({"bootstrap.servers": pair.source, "transactional.id": topic})
    producer.init_transactions(DEADLINE_S)
    with consuming(pair.source, group, topic) as consumer:
        producer.begin_transaction()
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 2)], metadata, DEADLINE_S)
        assert fetch_group_offsets(cluster, [group]) == {group: before}
        unstable = fetch_group_offsets(cluster, [group], require_stable=True)
        assert code_of(unstable[group]) == codes.UNSTABLE_OFFSET_COMMIT
        producer.commit_transaction(DEADLINE_S)
        after = before | {(topic, 0): Committed(2)}
        await_condition(lambda: fetch_group_offsets(cluster, [group], require_stable=True) == {group: after}, "the end")


def test_a_coordinator_that_is_not_there_any_more_is_looked_up_again(pair: Pair, cluster: Cluster, topic: str) -> None:
    create_topic(pair.source, topic)
    group = f"moved-{topic}"
    ours = {(topic, 0): Committed(5)}
    cluster.coordinators[group] = 99
    refused = commit_group_offsets(cluster, {group: ours}, deadline_s=0)
    assert code_of(refused[group]) == codes.COORDINATOR_NOT_AVAILABLE
    assert "broker 99 is not there" in str(refused[group])
    assert group not in cluster.coordinators
    cluster.coordinators[group] = 99
    assert commit_group_offsets(cluster, {group: ours}) == {group: {(topic, 0): 0}}
    assert cluster.coordinators[group] == 1


def test_more_partitions_than_a_broker_stores_at_once(pair: Pair, cluster: Cluster, topic: str) -> None:
    create_topic(pair.source, topic)
    group = f"large-{topic}"
    ours = {(topic, p): Committed(p) for p in range(2_500)}
    answer = commit_group_offsets(cluster, {group: ours})[group]
    assert answer == {place: codes.UNKNOWN_TOPIC_OR_PARTITION if place[1] else 0 for place in ours}
