"""A partition whose follower stands still beside others under load: the memory of the task stays what it is.

`SECONDS=120 MEGABYTES=100 pytest -s tests/long/test_stuck_partition.py` for a longer look and more load.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.support.kafka_client import await_condition, create_topic
from tests.support.lease_process import start_lease_process
from tests.support.leases import ends, new_producer_id

SECONDS = float(os.environ.get("SECONDS", "120"))
MEGABYTES = int(os.environ.get("MEGABYTES", "100"))  # a second
VALUE = os.urandom(4096)
FEW = 75  # of the partition that waits: a batch that is passed, not merged
KEPT = {"retention.bytes": str(256 << 20), "segment.bytes": str(64 << 20)}

pytestmark = pytest.mark.timeout(600)


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def put(producer: Producer, topic: str, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, VALUE, partition=partition)
            return
        except BufferError:  # more than the brokers take
            producer.poll(0.05)


def write_load(servers: str, topic: str, until: threading.Event) -> None:
    """So many megabytes a second into partitions 1 to 3, and a batch into 0."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "batch.size": 900_000})
    due = time.monotonic()
    while not until.wait(max(0.0, due - time.monotonic())):
        due += 0.1
        for number in range(MEGABYTES * 25):
            put(producer, topic, 1 + number % 3)
        for _ in range(FEW):
            put(producer, topic, 0)
        producer.poll(0)
    producer.flush(60)


def create_placed(servers: str, topic: str, placed: list[list[int]]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    new = NewTopic(topic, num_partitions=len(placed), replica_assignment=placed, config=KEPT)
    admin.create_topics([new])[topic].result(30)


def test_the_memory_of_a_task_does_not_grow_while_a_partition_waits(topic: str) -> None:
    slow = {"replica.lag.time.max.ms": "600000", "broker.session.timeout.ms": "600000"}
    source, target = KafkaCluster(name="A"), KafkaCluster(3, name="B", overrides=slow, heap_mb=384)
    start_clusters(source, target)
    with source, target:
        a, b = source.bootstrap_servers, target.bootstrap_servers
        leader, follower, other = (broker.id for broker in target.brokers)
        create_topic(a, topic, 4, config=KEPT)
        placed = [[leader, follower], *[[other, leader]] * 3]
        create_placed(b, topic, placed)
        await_condition(lambda: len(ends(b, topic)) == 4, "the topic", 30)
        stop = threading.Event()
        load = threading.Thread(target=write_load, args=(a, topic, stop))
        load.start()
        process = start_lease_process(a, b, topic, new_producer_id(b), seconds=SECONDS + 120, leases=1)
        try:
            await_condition(lambda: all(end > 0 for end in ends(b, topic).values()), "all partitions", 30)
            target.brokers[1].pause()
            before = ends(b, topic)
            measured: list[float] = []
            for share in (0.25, 0.75):
                threading.Event().wait(SECONDS * share)
                measured.append(resident_mb(process.pid))
            after = ends(b, topic)
        finally:
            target.brokers[1].resume()
            stop.set()
            load.join()
            process.kill()
            process.communicate()
        copied_mb = sum(after[p] - before[p] for p in (1, 2, 3)) * len(VALUE) / 1e6
        print(f"resident: {measured[0]:.0f} and {measured[1]:.0f} MB; {copied_mb / SECONDS:.0f} MB/s of the others")
        assert after[0] == before[0], "it waits"
        assert copied_mb > SECONDS, "the others go on"
        assert measured[1] < 1.1 * measured[0]
