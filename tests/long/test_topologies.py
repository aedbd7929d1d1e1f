"""Rings, chains and merges of real clusters: topics get the names of their ways, and nothing goes round."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess
from tests.support.topic_admin import remove_all

pytestmark = pytest.mark.timeout(240)

RECORDS = 300
ONE_REPLICA = "replication.factor = 1\nreplication.internal.topic.replication.factor = 1\n"
OFTEN = "refresh.topics.interval.seconds = 1\nlease.seconds = 5\nspark.ui.enabled = false\n"


@pytest.fixture(autouse=True)
def empty(three: dict[str, str]) -> None:
    for servers in three.values():
        remove_all(servers)


def write(servers: str, topic: str, partitions: int, key: str = "", first: int = 0) -> None:
    numbers = range(first, first + RECORDS)
    produce(servers, topic, ({"key": key.encode(), "value": b"%d" % i, "partition": i % partitions} for i in numbers))


def await_total(servers: str, topic: str, records: int) -> None:
    await_condition(lambda: topic in topics(servers) and total(servers, topic) >= records, f"{records} in {topic}", 90)


def orders(servers: str) -> set[str]:
    return {name for name in topics(servers) if name.endswith("orders")}


def test_a_ring_of_three_names_each_way_and_ends_where_it_began(three: dict[str, str]) -> None:
    lines = ["clusters = A, B, C", *(f"{alias}.bootstrap.servers = {three[alias]}" for alias in three)]
    lines += [f"{way}.enabled = true" for way in ("A->B", "B->C", "C->A")]
    for alias, servers in three.items():
        create_topic(servers, "orders", 2)
        write(servers, "orders", 2, alias)
    with MirrorProcess("\n".join(lines) + "\n" + ONE_REPLICA + OFTEN) as mirror:
        for alias, before in (("B", "A"), ("C", "B"), ("A", "C")):
            await_total(three[alias], f"{before}.orders", RECORDS)
        for alias, way in (("B", "A.C"), ("C", "B.A"), ("A", "C.B")):
            await_total(three[alias], f"{way}.orders", RECORDS)
        await_total(three["C"], "B.A.heartbeats", 3)
        looks = total(three["A"], "heartbeats")
        await_condition(lambda: total(three["A"], "heartbeats") > looks + 30, "fifteen looks at the topics", 60)
        assert mirror.terminate()[0] == 0
    assert orders(three["A"]) == {"orders", "C.orders", "C.B.orders"}
    assert orders(three["B"]) == {"orders", "A.orders", "A.C.orders"}
    assert orders(three["C"]) == {"orders", "B.orders", "B.A.orders"}
    for alias, way in (("B", "A"), ("C", "B.A"), ("A", "C.B")):
        origin = way.rpartition(".")[2]
        assert_same(read_all(three[origin], "orders"), read_all(three[alias], f"{way}.orders"))


def test_the_dialect_s_wildcard_merges_topics_of_any_width_and_one_that_comes_later(three: dict[str, str]) -> None:
    widths = {"two": 2, "three": 3, "five": 5}
    for name, partitions in widths.items():
        create_topic(three["A"], name, partitions)
        write(three["A"], name, partitions, name)
    text = (
        f"bootstrap.servers = {three['A']}\ntarget.cluster.bootstrap.servers = {three['C']}\n"
        "source.replication.topic.* = all\n"
    )
    with MirrorProcess(text + ONE_REPLICA + OFTEN) as mirror:
        await_total(three["C"], "all", 3 * RECORDS)
        create_topic(three["A"], "seven", 7)
        write(three["A"], "seven", 7, "seven")
        write(three["A"], "two", 2, "two", RECORDS)
        await_total(three["C"], "all", 5 * RECORDS)
        await_total(three["C"], "source.heartbeats", 3)
        assert mirror.terminate()[0] == 0
    log = read_all(three["C"], "all")
    assert len(log) == 5  # as wide as the widest that was there first
    seen = Counter((r.key, r.value) for records in log.values() for r in records)
    assert (len(seen), set(seen.values())) == (5 * RECORDS, {1})
    for name in (*widths, "seven"):
        for partition, records in read_all(three["A"], name).items():
            mine = {r.value for r in records}
            arrived = [r.value for r in log[partition % 5] if r.key == name.encode() and r.value in mine]
            assert arrived == [r.value for r in records]
