"""Traffic that a lane copies, and what ends a lane: every record once, in order, at its offset, whatever happens."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from sparkmirror.copy import copy as copy_module
from sparkmirror.copy.lane import ride
from sparkmirror.copy.lane.lane import Lane, open_lane
from sparkmirror.copy.lease import Bounds, Lease, LeasePartition, Rules
from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from sparkmirror.protocol import fetch, produce
from tests.conftest import Pair
from tests.hostile.proxy import FETCH, Answer, Close, LyingProxy, Said
from tests.support.grantor import LocalGrantor
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, end_offsets
from tests.support.kafka_client import produce as send
from tests.support.leases import copying, ends, new_producer_id, plan_lease, run_copy
from tests.support.load import beside, small_load
from tests.support.same_log import assert_same_log
from tests.support.source_logs.markers import write_markers
from tests.support.tls import Secured

PARTITIONS = 4
TAIL_BYTES = 3
ENDINGS = {
    number: name for name, number in vars(ride).items() if name in ("OVER", "OTHERS", "STRANGE", "GONE", "UNSENT")
}


class Watched:
    """The lanes that were opened, and why each ride ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lanes: list[Lane] = []
        self.endings: list[str] = []
        monkeypatch.setattr(copy_module, "open_lane", self._open)
        monkeypatch.setattr(Lane, "ride", self._riding(Lane.ride))

    def _open(self, *arguments: object) -> Lane | None:
        lane = open_lane(*arguments)  # type: ignore[arg-type]
        self.lanes += filter(None, [lane])
        return lane

    def _riding(self, whole: object) -> object:
        def watched(lane: Lane, until: float, lease_ends: float) -> int:
            ended = whole(lane, until, lease_ends)  # type: ignore[operator]
            self.endings.append(ENDINGS[ended])
            return int(ended)

        return watched


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def make_lease(
    pair: Pair, topic: str, seconds: float = 60.0, rules: Rules | None = None, secured: Secured | None = None
) -> Lease:
    partitions = [LeasePartition(topic=topic, partition=p, remote=topic) for p in range(PARTITIONS)]
    lease = plan_lease(
        pair.source, pair.target, new_producer_id(pair.target), partitions, rules or Rules(), seconds, 0.1
    )
    if secured is None:
        return lease
    client = Client(client_id="secret", security=Security.of(secured.of_client(), "test"))
    source, target = pair.a.servers_of("SSL"), pair.b.servers_of("MTLS")
    return replace(
        lease,
        source=replace(lease.source, bootstrap=(source,), client=client),
        target=replace(lease.target, bootstrap=(target,), client=client),
    )


@pytest.fixture(params=["plain", "TLS"])
def maybe_secured(request: pytest.FixtureRequest) -> Secured | None:
    found: Secured | None = request.getfixturevalue("secured") if request.param == "TLS" else None
    return found


@pytest.fixture
def topics(pair: Pair, topic: str) -> str:
    for servers in (pair.source, pair.target):
        create_topic(servers, topic, PARTITIONS)
    return topic


def await_copied(pair: Pair, topic: str) -> None:
    await_condition(lambda: end_offsets(pair.target, topic) == ends(pair.source, topic), "all of it", 30)


@contextmanager
def steady(servers: str, topic: str, *, size: int = 200, codec: str = "none", pause_s: float = 0.001) -> Iterator[None]:
    """Small batches all the time, until the end of the block."""
    stop = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "compression.type": codec})
        dice = random.Random(size)
        number = 0
        while not stop.wait(pause_s):
            for _ in range(dice.randint(1, 20)):
                number += 1
                value = b"%d " % number + dice.randbytes(dice.randint(0, size))
                with contextlib.suppress(BufferError):  # the brokers are away
                    producer.produce(topic, value, b"%d" % number, partition=dice.randrange(PARTITIONS))
            producer.poll(0)
        producer.flush(20)

    with beside(write, stop):
        yield


@pytest.mark.parametrize(
    ("maybe_secured", "codec", "dialect"),
    [
        ("plain", "none", "by id"),
        ("plain", "lz4", "by id"),
        ("plain", "none", "by name"),
        ("TLS", "none", "by id"),
        ("TLS", "lz4", "by name"),
    ],
    indirect=["maybe_secured"],
)
def test_steady_traffic_is_carried_by_one_lane(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched, monkeypatch: pytest.MonkeyPatch,
    maybe_secured: Secured | None, codec: str, dialect: str,
) -> None:  # fmt: skip
    if dialect == "by name":
        whole = Channel.supports
        by_id = {(fetch.API_KEY, fetch.BY_ID), (produce.API_KEY, produce.BY_ID)}
        monkeypatch.setattr(Channel, "supports", lambda c, key, v: (key, v) not in by_id and whole(c, key, v))
    with copying(make_lease(pair, topics, secured=maybe_secured)) as grantor:
        with steady(pair.source, topics, codec=codec):
            time.sleep(3)
        await_copied(pair, topics)
        copied = sum(end_offsets(pair.source, topics).values())
        await_condition(lambda: sum(r.records for r in grantor.receipts) == copied, "receipts of all of it", 5)
    assert_same_log(java_reader, pair.source, topics, pair.target, topics, ends=True)
    assert {(r.topic, r.partition): r.source_end for r in grantor.receipts} == {
        (topics, p): end for p, end in end_offsets(pair.source, topics).items()
    }
    assert len(watched.lanes) < 10
    assert watched.endings.count("STRANGE") < 10


def test_transactions_holes_and_large_batches_end_a_lane_and_another_is_opened(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched, maybe_secured: Secured | None
) -> None:
    with copying(make_lease(pair, topics, secured=maybe_secured)):
        with steady(pair.source, topics), small_load(pair.source, topics, PARTITIONS, seed=5, pause_s=0.2):
            for number in range(8):
                time.sleep(0.3)
                write_markers(pair.source, topics, number + 1, number % PARTITIONS)
                send(pair.source, topics, [{"value": bytes(600_000), "partition": 1}])
        await_copied(pair, topics)
    assert_same_log(java_reader, pair.source, topics, pair.target, topics, mirrored="read_committed")
    assert watched.endings.count("STRANGE") >= 2
    assert len(watched.lanes) >= 2


def test_a_lane_ends_with_its_lease_and_the_next_one_goes_on(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched, maybe_secured: Secured | None
) -> None:
    """Some tell where they stand, some die in silence, and some are over by time."""
    dice = random.Random(7)
    lease, left = make_lease(pair, topics, secured=maybe_secured), None
    with steady(pair.source, topics):
        for _ in range(12):
            one = replace(lease, seconds=dice.choice([0.6, 60.0]))
            with LocalGrantor() as grantor:
                timer = threading.Timer(dice.uniform(0.3, 0.9), grantor.recall)
                timer.start()
                found = run_copy(one, grantor, left)
                timer.cancel()
            left = found.standings if dice.random() < 0.6 else None
    with copying(lease):
        await_copied(pair, topics)
    assert_same_log(java_reader, pair.source, topics, pair.target, topics, ends=True)
    assert len(watched.lanes) > 6


def test_what_a_socket_does_not_take_at_once_is_sent_before_all_else(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched, maybe_secured: Secured | None
) -> None:
    lease = make_lease(pair, topics, secured=maybe_secured)
    narrow = replace(lease.target.client, send_buffer_bytes=1)  # the system gives some kilobytes
    lease = replace(lease, target=replace(lease.target, client=narrow))
    with copying(lease):
        with steady(pair.source, topics, size=30_000, pause_s=0.1):
            time.sleep(4)
        await_copied(pair, topics)
    assert_same_log(java_reader, pair.source, topics, pair.target, topics, ends=True)
    assert "UNSENT" in watched.endings


def test_little_memory_means_no_lane(pair: Pair, topics: str, watched: Watched) -> None:
    with copying(make_lease(pair, topics, rules=Rules(bounds=Bounds(held_bytes=512 << 10)))):
        with steady(pair.source, topics):
            time.sleep(0.5)
        await_copied(pair, topics)
    assert not watched.lanes


def test_somebody_else_s_record_stops_its_partition_alone(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched
) -> None:
    with copying(make_lease(pair, topics)) as grantor, steady(pair.source, topics):
        await_condition(lambda: len(watched.lanes) > 0, "a lane")
        send(pair.target, topics, [{"value": b"others", "partition": 2}])
        await_condition(lambda: any("foreign-writer" in r.error for r in grantor.receipts), "the fact", 10)
        before = end_offsets(pair.target, topics)
        await_condition(
            lambda: all(now > before[p] for p, now in end_offsets(pair.target, topics).items() if p != 2), "the others"
        )
    assert {r.partition for r in grantor.receipts if r.error} == {2}


def test_brokers_of_both_sides_die_and_come_back(java_reader: JavaReader, topic: str, watched: Watched) -> None:
    """Three on each side; partitions of one lane are read from all and written to all."""
    overrides = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    a, b = (KafkaCluster(name=f"lane-{name}", brokers=3, heap_mb=256, overrides=overrides) for name in "AB")
    start_clusters(a, b)
    with a, b:
        pair = Pair(a, b)
        for servers in (pair.source, pair.target):
            create_topic(servers, topic, PARTITIONS, 3)
        with copying(make_lease(pair, topic, 120.0)):
            with steady(pair.source, topic, pause_s=0.01):
                await_condition(lambda: len(watched.lanes) > 0, "a lane", 30)
                for cluster in (b, a):
                    lanes = len(watched.lanes)
                    cluster.brokers[0].kill()
                    await_condition(lambda n=lanes: len(watched.lanes) > n, "another lane", 40)  # type: ignore[misc]
                    cluster.brokers[0].start()
                    cluster.wait_ready()
            await_copied(pair, topic)
        assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)
    assert len(watched.lanes) >= 3


@pytest.mark.parametrize("tail", ["late", "very late", "never"])
def test_an_answer_whose_last_bytes_come_on_their_own_is_waited_for(
    pair: Pair, topics: str, java_reader: JavaReader, watched: Watched, tail: str
) -> None:
    """Brokers send the three counts of tags behind the last record apart from it."""
    told = threading.Event()

    def split(answer: Answer) -> Iterable[Said]:
        if len(answer.frame) < 2 * ride.FIRST_BYTES:
            yield answer.frame
            return
        yield answer.frame[:-TAIL_BYTES]
        is_the_one = answer.number % 50 == 49
        time.sleep(0.3 if tail == "very late" and is_the_one else 0.001)
        if is_the_one and len(watched.lanes) > 0:
            told.set()
        if is_the_one and tail == "never":
            yield Close()
        yield answer.frame[-TAIL_BYTES:]

    with LyingProxy(pair.source, {FETCH: split}) as proxy:
        lease = make_lease(pair, topics)
        lease = replace(lease, source=replace(lease.source, bootstrap=(proxy.server,)))
        with copying(lease):
            with steady(pair.source, topics):
                await_condition(lambda: told.is_set() and proxy.asked[FETCH] > 400, "many fetches", 40)
            await_copied(pair, topics)
    assert watched.lanes
    assert_same_log(java_reader, pair.source, topics, pair.target, topics, ends=True)
