"""Failover and failback with a running mirror and a real consumer group: each record is processed exactly once.

And a source whose brokers are all killed: consumers go on at the last sync, and come back when it is there again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import read_leader
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess

PARTITIONS = 3


def settings(topic: str, first: tuple[str, str], second: tuple[str, str], extra: dict[str, str]) -> str:
    lines = {
        "clusters": f"{first[0]}, {second[0]}",
        f"{first[0]}.bootstrap.servers": first[1],
        f"{second[0]}.bootstrap.servers": second[1],
        f"{first[0]}->{second[0]}.enabled": "true",
        "topics": topic,
        "groups": topic,
        "replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "lease.seconds": "2",
        "refresh.topics.interval.seconds": "1",
        "spark.ui.enabled": "false",
        **KEYS,
        **extra,
    }
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


def switch(verb: str, file: Path, flow: str, *arguments: str) -> dict[str, Any]:
    done = run_command(verb, str(file), "--flow", flow, "--json", *arguments, deadline_s=150)
    assert done.stdout, done.stderr
    return {"code": done.returncode} | dict(json.loads(done.stdout))


def was_seen_whole(target: str) -> bool:
    """Whether the mirror has written down that nothing is missing: what is known of a source that is lost."""
    with Cluster(ClusterAddress(alias="safe", bootstrap=(target,))) as cluster:
        leader, _ = read_leader(cluster, Storage.named("lost", "mm2"))
    return leader is not None and leader.seen is not None and not leader.seen.lag


class Load:
    """Records with numbers of their own, all of them different."""

    def __init__(self, topic: str) -> None:
        self.written = 0
        self._topic = topic

    def write(self, servers: str, count: int = 60) -> None:
        numbers = range(self.written, self.written + count)
        produce(servers, self._topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in numbers))
        self.written += count

    @contextlib.contextmanager
    def going_on(self, servers: str) -> Iterator[None]:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                self.write(servers)
                stop.wait(0.1)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class Reader:
    """An application: a member of the group that processes a topic, local and remote, and commits what it has done."""

    def __init__(self, topic: str) -> None:
        self.seen: Counter[bytes] = Counter()
        self._topic = topic

    def read(self, servers: str, is_enough: Callable[[int], bool], deadline_s: float = 60) -> list[bytes]:
        """Until it is enough; what was read."""
        config = {"bootstrap.servers": servers, "group.id": self._topic, "enable.auto.commit": False}
        consumer = Consumer(config | {"auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 500})
        consumer.subscribe([f"^([a-z]+\\.)?{self._topic}$"])
        until = time.monotonic() + deadline_s
        read: list[bytes] = []
        try:
            while not is_enough(len(read)):
                assert time.monotonic() < until, f"{len(read)} records within {deadline_s} s, {len(self.seen)} in all"
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    read.append(message.value() or b"")
                    if len(read) % 50 == 0:
                        consumer.commit(asynchronous=False)
            if len(read) % 50:
                consumer.commit(asynchronous=False)
        finally:
            consumer.close()
        self.seen.update(read)
        return read


@pytest.mark.timeout(300)
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_a_planned_switch_and_the_way_back_under_load(pair: Pair, topic: str, preserve: str) -> None:
    extra = {
        "west->east.enabled": "true",
        "offsets.preserve": preserve,
        "sync.group.offsets.enabled": "false",  # so that nothing but the switch moves a group
    }
    for servers in (pair.source, pair.target):
        create_topic(servers, topic, PARTITIONS)
    load, reader = Load(topic), Reader(topic)
    with MirrorProcess(settings(topic, ("east", pair.source), ("west", pair.target), extra)) as mirror:
        mirror.await_log("east->west: leads, with")
        mirror.await_log("west->east: leads, with")
        for number in (1, 2):
            with load.going_on(pair.source):
                reader.read(pair.source, lambda count: count >= 400)
            there = switch("failover", mirror.file, "east->west")
            assert there["code"] == 0, there
            assert {row["state"] for row in there["groups"]} <= {"moved", "in-place"} and there["groups"]
            assert mirror.log().count("east->west: halted by ") == number
            with load.going_on(pair.target):
                reader.read(pair.target, lambda count: count >= 400)
            back = switch("failback", mirror.file, "east->west")
            assert back["code"] == 0, back
            assert {row["to_topic"] for row in back["groups"]} == {topic, f"west.{topic}"}
            assert not back["halted"] and back["notes"] == ["east->west goes on"]
        with load.going_on(pair.source):
            reader.read(pair.source, lambda count: count >= 200)
        left = load.written - sum(reader.seen.values())
        reader.read(pair.source, lambda count: count >= left)
        mirrored = total(pair.source, topic)
        await_condition(lambda: total(pair.target, f"east.{topic}") >= mirrored, "the flow that goes on", 30)
    assert len(reader.seen) == load.written and set(reader.seen.values()) == {1}


@pytest.mark.timeout(300)
def test_a_source_that_is_lost_and_comes_back(pair: Pair, topic: str) -> None:
    lost = KafkaCluster(2, name="lost", heap_mb=256)
    extra = dict.fromkeys(("refresh.groups", "emit.checkpoints", "sync.group.offsets"), "1")
    intervals = {f"{key}.interval.seconds": value for key, value in extra.items()}
    load, reader = Load(topic), Reader(topic)
    remote = f"lost.{topic}"
    places = [(remote, p) for p in range(PARTITIONS)]

    def synced() -> int:
        return sum(max(0, offset) for offset in committed(pair.target, topic, places).values())

    with lost:
        servers = lost.bootstrap_servers
        create_topic(servers, topic, PARTITIONS)
        load.write(servers, 2_000)
        text = settings(topic, ("lost", servers), ("safe", pair.target), intervals)
        with MirrorProcess(text) as mirror:
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 2_000, "all", 90)
            first = reader.read(servers, lambda count: count >= 500)
            await_condition(lambda: synced() == len(first), "a sync", 60)
            await_condition(lambda: was_seen_whole(pair.target), "a comparison of both sides", 60)
            last = reader.read(servers, lambda count: count >= 50)
            for broker in lost.brokers:
                broker.kill()
            report = switch("failover", mirror.file, "lost->safe")
            at = synced()
            assert len(first) <= at <= len(first) + len(last)
            assert report["code"] == 1 and report["source_away"] and report["halted"], report
            assert not report["problem"] and not report["missing"], report
            assert {row["state"] for row in report["groups"]} <= {"moved", "in-place"} and report["groups"]
            assert sum(row["to_offset"] for row in report["groups"]) == at
            assert all(row["synced"] for row in report["groups"])
            lags = {(row["topic"], row["partition"]): row["lag"] for row in report["last_seen"]["partitions"]}
            assert lags == {(topic, p): 0 for p in range(PARTITIONS)}

            reader.read(pair.target, lambda count: count >= 2_000 - at)
            twice = {value for value, times in reader.seen.items() if times > 1}
            assert len(reader.seen) == 2_000 and twice <= set(last)
            assert len(twice) == len(first) + len(last) - at, "no more than was consumed since the last sync"

            for broker in lost.brokers:
                broker.start()
            lost.wait_ready()
            load.write(servers, 100)
            await_condition(lambda: mirror.status()["flows"][0]["state"] == "halted", "the mirror's own word", 60)
            assert total(pair.target, remote) == 2_000
            back = switch("failback", mirror.file, "lost->safe")
            assert back["code"] == 0, back
            assert len(reader.read(servers, lambda count: count >= 100)) == 100
            await_condition(lambda: total(pair.target, remote) == 2_100, "the flow that goes on", 60)
    assert {value for value, times in reader.seen.items() if times > 1} == twice
