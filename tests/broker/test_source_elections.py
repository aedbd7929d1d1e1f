"""Leaders and followers of a source: a follower that is nearer is read from, a leader that lacks records is a fact."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lease import CONTINUE, FAIL, LeasePartition, Rules
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster, start_clusters
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import EpochEnd, fetch_epoch_ends
from sparkmirror.protocol import fetch
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, create_topic_on, produce, read_all, total
from tests.support.leases import Copied, address, ends, new_producer_id, plan_lease, run_alone
from tests.support.local_mirror import mirroring

pytestmark = pytest.mark.timeout(120)

# Brokers 1 and 3 keep the quorum while 2 is down, 1 and 2 while 3 is.
LEADS, FOLLOWS = 2, 3
QUICK = {
    **QUICK_FAILOVER,
    "broker.session.timeout.ms": "2000",
    "unclean.leader.election.enable": "true",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


@pytest.fixture(scope="module")
def trio() -> Iterator[KafkaCluster]:
    cluster = KafkaCluster(3, name="E", overrides=QUICK, heap_mb=256)
    start_clusters(cluster)
    with cluster:
        yield cluster


def leader_of(cluster: Cluster, topic: str, partition: int = 0) -> Leader:
    return cluster.fetch_metadata([topic]).topics[topic].leaders[partition]


def in_sync(servers: str, topic: str) -> list[int]:
    known = AdminClient({"bootstrap.servers": servers}).list_topics(topic, timeout=30).topics[topic]
    return sorted(known.partitions[0].isrs)


def write(servers: str, topic: str, texts: list[str], partition: int) -> None:
    produce(servers, topic, ({"value": t.encode(), "partition": partition} for t in texts), acks=1)


class MergedOrigin:
    """Partition 0 of a topic as one of several that are written into one target partition."""

    def __init__(self, source: str, target: str, topic: str) -> None:
        self.source, self.target, self.topic = source, target, topic
        self.remote, self.producer_id = f"{topic}.merged", new_producer_id(target)
        self.standing: Standing | None = None
        create_topic(target, self.remote)

    def copy(self, on_divergence: str) -> Copied:
        part = LeasePartition(
            topic=self.topic,
            partition=0,
            remote=self.remote,
            onto=0,
            producer_id=self.producer_id,
            hint=self.standing,
            stop_at=ends(self.source, self.topic)[0],
        )
        rules = Rules(on_divergence=on_divergence)
        copied = run_alone(plan_lease(self.source, self.target, self.producer_id, [part], rules, 5))
        self.standing = copied.standings.get((self.topic, 0), self.standing)
        return copied

    def values(self) -> list[bytes | None]:
        return [r.value for r in read_all(self.target, self.remote)[0]]


def asked_by_fetch(cluster: Cluster, topic: str, offset: int, last_epoch: int) -> fetch.FetchedPartition:
    """A consumer's fetch that says in which epoch it read the record before."""
    info = cluster.fetch_metadata([topic]).topics[topic]
    leader = info.leaders[0]
    wish = fetch.FetchPartition(0, leader.epoch, offset, 1 << 20, last_epoch)
    body = fetch.encode_fetch(fetch.BY_ID, {info.topic_id: [wish]}, max_wait_ms=0, max_bytes=1 << 20)
    version, frame = cluster.call_raw(leader.node, fetch.API_KEY, (fetch.BY_ID,), lambda _: [body])
    return fetch.parse_fetch(version, frame).partitions[0]


def test_a_follower_in_our_rack_is_read_from_until_it_dies(
    trio: KafkaCluster, pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = trio.bootstrap_servers
    create_topic_on(source, topic, 1, [LEADS, FOLLOWS])
    fetched: Counter[int] = Counter()
    take = Fetcher.take

    def count(self: Fetcher, frame: memoryview) -> list[tuple[Cursor, fetch.FetchedPartition]]:
        news = take(self, frame)
        fetched[self.node] += sum(len(found.records) for _, found in news)
        return news

    monkeypatch.setattr(Fetcher, "take", count)
    extra = {"FLOW.consumer.client.rack": f"rack-{FOLLOWS}", "refresh.topics.interval.seconds": "0.5"}
    with mirroring(write_flow(tmp_path, source, pair.target, topic, extra)) as mirror:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.await_topics(1)
        write(source, topic, [f"{i}" for i in range(1000)], 0)
        lease = threading.Thread(target=mirror.round, args=(20.0,), daemon=True)
        lease.start()
        await_condition(lambda: total(pair.target, remote) == 1000, "the copy", 10)
        print("bytes by broker", dict(fetched))
        assert fetched[FOLLOWS] > 5000 and not fetched[LEADS]
        trio.brokers[FOLLOWS - 1].kill()
        fetched.clear()
        write(source, topic, [f"{i}" for i in range(1000, 1500)], 0)
        await_condition(lambda: in_sync(source, topic) == [LEADS], "the follower to be out of sync", 30)
        took_s = await_condition(lambda: total(pair.target, remote) == 1500, "the copy from the leader", 10)
        print(f"bytes by broker {dict(fetched)}, {took_s:.1f} s after the leader could go on without its follower")
        assert fetched[LEADS] > 2500 and not fetched[FOLLOWS]
        mirror.recall()
        lease.join()
        assert [r.value for r in read_all(pair.target, remote)[0]] == [b"%d" % i for i in range(1500)]
        trio.brokers[FOLLOWS - 1].start()
        trio.brokers[FOLLOWS - 1].wait_ready()


def test_what_an_unclean_election_took_away_stops_its_partition_until_the_policy_says_go_on(
    trio: KafkaCluster, pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = trio.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": source})
    # Partition 1 is led by the broker that nobody stops.
    new = NewTopic(topic, num_partitions=2, replica_assignment=[[LEADS, FOLLOWS], [1, LEADS]])
    admin.create_topics([new])[topic].result(30)
    file = write_flow(tmp_path, source, pair.target, topic, {"refresh.topics.interval.seconds": "0.5"})
    with mirroring(file) as mirror, Cluster(address(source)) as asked:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.await_topics(2)
        produce(source, topic, ({"value": b"both %d" % i, "partition": 0} for i in range(50)), acks="all")
        trio.brokers[FOLLOWS - 1].kill()
        await_condition(lambda: in_sync(source, topic) == [LEADS], "the follower to be out of sync", 30)
        write(source, topic, [f"lost {i}" for i in range(50)], 0)
        mirror.catch_up(topic)
        standing = mirror.hints[topic, 0]
        assert standing.next_offset == 100
        merged = MergedOrigin(source, pair.target, topic)
        merged.copy(FAIL)
        produce(pair.target, merged.remote, [{"value": b"another origin's"}])

        lease = threading.Thread(target=mirror.round, args=(60.0,), daemon=True)
        lease.start()
        trio.brokers[LEADS - 1].kill()
        trio.brokers[FOLLOWS - 1].start()
        await_condition(lambda: leader_of(asked, topic).node == FOLLOWS, "the unclean election", 30)
        write(source, topic, [f"other {i}" for i in range(80)], 0)
        write(source, topic, [f"healthy {i}" for i in range(10)], 1)

        said = f"source-truncated: the target holds records up to offset 99 but the log of {topic} was cut back to 50"
        shared = fetch_epoch_ends(asked, {(topic, 0): leader_of(asked, topic)}, {(topic, 0): standing.source_epoch})
        assert shared == {(topic, 0): EpochEnd(standing.source_epoch, 50)}
        assert asked_by_fetch(asked, topic, 100, standing.source_epoch).is_diverging, "a consumer is told, too"

        assert [said in fact for fact in merged.copy(FAIL).facts] == [True], "so does one of several origins"
        assert len(merged.values()) == 101
        merged.copy(CONTINUE)
        assert merged.values()[101:] == [f"other {i}".encode() for i in range(80)]
        assert merged.copy(FAIL).facts == [] and len(merged.values()) == 181, "known from then on"

        await_condition(lambda: any(r.kind == STOPPED for r in mirror.receipts), "the stop", 30)
        await_condition(lambda: total(pair.target, remote) == 110, "the other partition", 30)
        mirror.recall()
        lease.join()
        status = mirror.status()
        print(status)
        assert said in status
        assert f"{topic}-0 stopped: {said}" in caplog.text
        target = read_all(pair.target, remote)
        assert [len(target[0]), len(target[1])] == [100, 10], "nothing behind the cut, and the other goes on"

        mirror.round(on_divergence="continue")
        values = [r.value for r in read_all(pair.target, remote)[0]]
        assert values[100:] == [f"other {i}".encode() for i in range(80)]
        assert f"{topic}-0 goes on" in caplog.text
        assert mirror.facts()[topic, 0].kind == "noted"
        write(source, topic, ["later"], 0)
        mirror.round()
        assert [r.value for r in read_all(pair.target, remote)[0]] == [*values, b"later"], "known from then on"
