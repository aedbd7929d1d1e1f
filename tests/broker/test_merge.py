"""Several partitions into one of the target: each origin's records once and in order, whoever writes between them."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import closing

from sparkmirror.copy.lease import LeasePartition, Rules
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import describe_producer
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, produce, read_all
from tests.support.leases import ends, new_producer_id, plan_lease, run_alone

COUNTS = {"one": 2, "two": 3, "three": 5}
TARGETS = 3
RECORDS = 3000  # a partition
OLD_MS = 1_000_000_000_000  # the leader forgets a producer whose newest record is that old

Place = tuple[str, int]


def test_each_origin_s_records_come_once_and_in_order_across_lost_leases(pair: Pair, topic: str) -> None:
    """Two leases at a time write into the same partitions; hints are lost, or old, or there."""
    places = make_sources(pair, topic)
    create_topic(pair.target, topic, TARGETS)
    ids = {place: new_producer_id(pair.target) for place in places}
    hints: dict[Place, Standing] = {}
    old: dict[Place, Standing] = {}
    for seconds, known in ((0.6, hints), (0.6, hints), (0.6, old), (0.6, {}), (30, hints)):
        old = dict(hints)
        found = copy_halves(pair, topic, places, ids, known, seconds)
        hints.update(found)
    assert_merged(pair, topic, places)


def test_a_lost_progress_topic_is_counted_from_both_beginnings(pair: Pair, topic: str) -> None:
    places = make_sources(pair, topic)
    create_topic(pair.target, topic, TARGETS)
    ids = {place: new_producer_id(pair.target) for place in places}
    copy_halves(pair, topic, places, ids, {}, 30)
    write(pair, places)
    copy_halves(pair, topic, places, ids, {}, 30)
    assert_merged(pair, topic, places)


def test_a_lost_progress_topic_is_counted_where_leaders_have_forgotten_the_producers(pair: Pair, topic: str) -> None:
    create_topic(pair.source, f"{topic}-old", 2, config={"retention.ms": "-1"})
    await_condition(lambda: len(ends(pair.source, f"{topic}-old")) == 2, "the topic's leaders")
    places = [(f"{topic}-old", number) for number in range(2)]
    write(pair, places, timestamp=OLD_MS)
    create_topic(pair.target, topic, TARGETS, config={"retention.ms": "-1"})
    ids = {place: new_producer_id(pair.target) for place in places}
    copy_halves(pair, topic, places, ids, {}, 30)
    await_condition(lambda: not any(remembers(pair, topic, places, ids)), "the producers to be forgotten", 30)
    write(pair, places, timestamp=OLD_MS)
    copy_halves(pair, topic, places, ids, {}, 30)
    assert_merged(pair, topic, places)


def remembers(pair: Pair, topic: str, places: list[Place], ids: dict[Place, int]) -> list[bool]:
    with closing(Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,)))) as target:
        leaders = target.fetch_metadata([topic]).topics[topic].leaders
        found = []
        for name, number in places:
            there = (topic, number % TARGETS)
            state = describe_producer(target, {there: leaders[there[1]]}, ids[name, number])
            found.append(state[there] is not None)
        return found


def make_sources(pair: Pair, topic: str) -> list[Place]:
    for name, count in COUNTS.items():
        create_topic(pair.source, f"{topic}-{name}", count)
    places = [(f"{topic}-{name}", number) for name, count in COUNTS.items() for number in range(count)]
    write(pair, places)
    return places


def write(pair: Pair, places: list[Place], **more: int) -> None:
    for name, number in places:
        first = ends(pair.source, name)[number]
        rows = ({"key": b"%s-%d" % (name.encode(), number), "value": b"%d" % i} for i in range(first, first + RECORDS))
        produce(pair.source, name, (row | {"partition": number} | more for row in rows), batch_size=2000)


def copy_halves(
    pair: Pair, topic: str, places: list[Place], ids: dict[Place, int], hints: dict[Place, Standing], seconds: float
) -> dict[Place, Standing]:
    """Two leases at once, each with every other origin."""
    stops = {place: ends(pair.source, place[0])[place[1]] for place in places}
    leased = [
        LeasePartition(
            topic=name,
            partition=number,
            remote=topic,
            onto=number % TARGETS,
            producer_id=ids[name, number],
            stop_at=stops[name, number],
            hint=hints.get((name, number)),
        )
        for name, number in places
    ]
    found: dict[Place, Standing] = {}
    said: list[str] = []

    def run(half: list[LeasePartition]) -> None:
        copied = run_alone(plan_lease(pair.source, pair.target, -1, half, Rules(), seconds))
        found.update(copied.standings)
        said.extend(copied.facts)

    threads = [threading.Thread(target=run, args=(leased[begin::2],)) for begin in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text for text in said if " stopped " in text] == []
    return found


def assert_merged(pair: Pair, topic: str, places: list[Place]) -> None:
    seen: dict[bytes, list[bytes | None]] = defaultdict(list)
    for partition, log in read_all(pair.target, topic).items():
        for record in log:
            assert record.key is not None and int(record.key.rpartition(b"-")[2]) % TARGETS == partition
            seen[record.key].append(record.value)
    assert seen.keys() == {b"%s-%d" % (name.encode(), number) for name, number in places}
    for name, number in places:
        wanted = [b"%d" % i for i in range(ends(pair.source, name)[number])]
        assert seen[b"%s-%d" % (name.encode(), number)] == wanted
