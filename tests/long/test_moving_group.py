"""A real consumer group moves between two clusters that mirror each other, and processes each record exactly once."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from confluent_kafka import Consumer

from tests.conftest import Pair
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, commit
from tests.support.kafka_client import await_condition, create_topic, end_offsets, produce
from tests.support.mirror_process import MirrorProcess

MOVES = 5
BATCH = 400
PARTITIONS = 3


def both_ways(pair: Pair, topic: str, preserve: str) -> str:
    lines = {
        "clusters": "east, west",
        "east.bootstrap.servers": pair.source,
        "west.bootstrap.servers": pair.target,
        "east->west.enabled": "true",
        "west->east.enabled": "true",
        "topics": topic,
        "groups": topic,
        "replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "offsets.preserve": preserve,
        "lease.seconds": "2",
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.interval.seconds": "1",
        "spark.ui.enabled": "false",
        **KEYS,
    }
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


def consume(servers: str, topic: str, group: str, count: int, seen: Counter[bytes]) -> None:
    """Process so many records and commit each before the next, as one does who wants none twice."""
    config = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(config | {"auto.offset.reset": "error"})
    consumer.subscribe([topic])
    try:
        while count:
            message = consumer.poll(1.0)
            if message is None:
                continue
            assert message.error() is None, message.error()
            seen[message.value() or b""] += 1
            count -= 1
            if count % 50 == 0:
                consumer.commit(asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_moved_back_and_forth_it_reads_nothing_twice_and_misses_nothing(pair: Pair, topic: str, preserve: str) -> None:
    create_topic(pair.source, topic, PARTITIONS)
    seen: Counter[bytes] = Counter()
    stop = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            rows = [{"value": b"%d" % i, "partition": i % PARTITIONS} for i in range(written, written + 60)]
            produce(pair.source, topic, rows)
            written += 60
            stop.wait(0.2)

    places = [(topic, p) for p in range(PARTITIONS)]
    remotes = [(f"east.{topic}", p) for p in range(PARTITIONS)]
    commit(pair.source, topic, dict.fromkeys(places, 0))
    commit(pair.source, topic, dict.fromkeys(places, 0))
    writer = threading.Thread(target=write)
    with MirrorProcess(both_ways(pair, topic, preserve)) as mirror:
        mirror.await_log("leads, with")
        writer.start()
        for _ in range(MOVES):
            consume(pair.source, topic, topic, BATCH, seen)
            at = sum(committed(pair.source, topic, places).values())
            await_condition(lambda a=at: _processed(pair.target, topic, remotes) >= a, "the group on the target", 60)  # type: ignore[misc]
            consume(pair.target, f"east.{topic}", topic, BATCH, seen)
            there = _processed(pair.target, topic, remotes)
            await_condition(
                lambda t=there: sum(committed(pair.source, topic, places).values()) >= t,  # type: ignore[misc]
                "the group back on the source",
                60,
            )
        stop.set()
        writer.join()
        consume(pair.source, topic, topic, written - sum(seen.values()), seen)
    assert written == sum(end_offsets(pair.source, topic).values())
    assert len(seen) == written and set(seen.values()) == {1}


def _processed(servers: str, group: str, places: list[tuple[str, int]]) -> int:
    return sum(max(0, offset) for offset in committed(servers, group, places).values())
