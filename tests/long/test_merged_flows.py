"""Several topics or clusters into one topic, and names that stay the same both ways: each record once, in order."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

pytestmark = pytest.mark.timeout(240)

COUNTS = {"one": 2, "two": 3, "three": 5}
RECORDS = 400
TURNS = 5


def write(servers: str, topic: str, partitions: int, first: int = 0) -> int:
    rows = (
        {"key": topic.encode(), "value": b"%d" % i, "partition": i % partitions} for i in range(first, first + RECORDS)
    )
    produce(servers, topic, rows, batch_size=1000)
    return RECORDS


def copied(servers: str, topic: str) -> int:
    return total(servers, topic) if topic in topics(servers) else 0


def test_topics_and_clusters_merge_into_one_topic_and_one_more_is_added_live(pair: Pair, topic: str) -> None:
    """R and C are the same cluster as A: three sources that have the same topics."""
    remote = f"{topic}-all"
    written = 0
    for name, count in COUNTS.items():
        create_topic(pair.source, f"{topic}.{name}", count)
        written += write(pair.source, f"{topic}.{name}", count)
    extra = {
        "clusters": "A, R, C, B",
        "topics.map": rf"{topic}\..*:{remote}",
        **{f"{alias}.bootstrap.servers": pair.source for alias in "RC"},
        **{f"{alias}->B.enabled": "true" for alias in "RC"},
        **{f"{alias}->B.topics": rf"{topic}\..*" for alias in "ARC"},
    }
    with MirrorProcess(properties(pair.source, pair.target, "none", extra)) as mirror:
        await_condition(lambda: copied(pair.target, remote) >= 3 * written, "all three sources", 90)
        create_topic(pair.source, f"{topic}.four", 7)
        written += write(pair.source, f"{topic}.four", 7)
        written += write(pair.source, f"{topic}.one", 2, RECORDS)
        await_condition(lambda: copied(pair.target, remote) >= 3 * written, "the one that was added", 60)
        mirror.kill()
        mirror.start()
        written += write(pair.source, f"{topic}.two", 3, RECORDS)
        await_condition(lambda: copied(pair.target, remote) >= 3 * written, "more after a kill", 60)
        mirror.terminate()
    log = read_all(pair.target, remote)
    seen = Counter((r.key, r.value) for records in log.values() for r in records)
    assert (len(seen), set(seen.values())) == (written, {3})
    places = {
        (r.key, r.value): (partition, index)
        for name in (*COUNTS, "four")
        for partition, records in read_all(pair.source, f"{topic}.{name}").items()
        for index, r in enumerate(records)
    }
    for target, records in log.items():
        # Three copies of each source partition: whatever comes is due in one of them.
        due: dict[tuple[bytes | None, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for r in records:
            partition, index = places[r.key, r.value]
            assert partition % len(log) == target
            copies = due[r.key, partition]
            assert index in copies, "a record came before its time"
            copies[copies.index(index)] += 1


def test_names_stay_the_same_both_ways_and_nothing_goes_round(pair: Pair, topic: str) -> None:
    extra = {
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "identity.bidirectional": "true",
        "B->A.enabled": "true",
        "B->A.topics": topic,
        "heartbeats.replication.enabled": "false",
    }
    sides = (pair.source, pair.target)
    for servers in sides:
        create_topic(servers, topic, 2)
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        for turn in range(TURNS):
            for side, servers in enumerate(sides):
                rows = (
                    {"key": b"%d" % side, "value": b"%d" % (200 * turn + i), "partition": i % 2} for i in range(200)
                )
                produce(servers, topic, rows, batch_size=500)
            if turn == 1:  # while it copies
                mirror.kill()
                mirror.start()
            if turn == 3:
                assert mirror.terminate()[0] == 0
                mirror.start()
            wanted = 400 * (turn + 1)
            for servers in sides:
                await_condition(lambda s=servers, n=wanted: total(s, topic) >= n, f"{wanted} records", 90)  # type: ignore[misc]
        # What went round would stand before records that are written after.
        for extra_records in (2, 4):
            for servers in sides:
                produce(servers, topic, [{"key": b"last", "value": b"", "partition": p} for p in (0, 1)])
            wanted = 2000 + 2 * extra_records
            for servers in sides:
                await_condition(lambda s=servers, n=wanted: total(s, topic) >= n, f"{wanted} records", 60)  # type: ignore[misc]
        assert [total(servers, topic) for servers in sides] == [2008, 2008]
    for servers in sides:
        for partition, records in read_all(servers, topic).items():
            for key in (b"0", b"1"):
                assert [int(r.value or b"") for r in records if r.key == key] == list(range(partition, 1000, 2))
