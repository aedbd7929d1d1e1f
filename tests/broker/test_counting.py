"""Where offsets are translated and progress is old or lost, what is left of the target's log says where it goes on."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from sparkmirror.batch.header import patch_batch
from sparkmirror.copy import scout
from sparkmirror.copy.lease import NEVER, LeasePartition, Rules
from sparkmirror.copy.place import Place
from sparkmirror.copy.roster import SEARCHING
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.tail import Batch
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.batches import encode_batch
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, total
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_alone, run_lease
from tests.support.source_logs import remove_records
from tests.support.source_logs.write import append_raw

pytestmark = pytest.mark.timeout(60)

TRANSLATED = Rules(preserve=NEVER)
RECORD_BYTES, RECORDS = 500_000, 60


def write(servers: str, topic: str, first: int, end: int) -> None:
    produce(servers, topic, ({"value": b"%d" % i} for i in range(first, end)))


def copied_unheard(pair: Pair, topic: str, producer_id: int) -> dict[tuple[str, int], Standing]:
    """50 records are known to be copied, 50 more were copied in two batches and nobody was told."""
    create_topic(pair.source, topic)
    create_topic(pair.target, topic)
    write(pair.source, topic, 0, 50)
    known = run_lease(pair.source, pair.target, topic, producer_id, rules=TRANSLATED).standings
    hints = known
    for first in (50, 75):
        write(pair.source, topic, first, first + 25)
        hints = run_lease(pair.source, pair.target, topic, producer_id, hints=hints, rules=TRANSLATED).standings
    return known


def test_retention_that_passed_the_known_place_leaves_enough_to_count(pair: Pair, topic: str) -> None:
    producer_id = new_producer_id(pair.target)
    known = copied_unheard(pair, topic, producer_id)
    remove_records(pair.target, topic, 80)
    write(pair.source, topic, 100, 110)
    again = run_lease(pair.source, pair.target, topic, producer_id, hints=known, rules=TRANSLATED, seconds=5)
    assert again.facts == []
    assert [r.value for r in read_all(pair.target, topic)[0]] == [b"%d" % i for i in range(80, 110)]


def test_where_retention_left_nothing_to_compare_it_stops_by_name(pair: Pair, topic: str) -> None:
    producer_id = new_producer_id(pair.target)
    known = copied_unheard(pair, topic, producer_id)
    remove_records(pair.target, topic, 100)
    stopped = run_lease(pair.source, pair.target, topic, producer_id, hints=known, rules=TRANSLATED, seconds=5)
    assert [" stopped position-unknown: 50 records of the source" in fact for fact in stopped.facts] == [True]


def test_a_batch_that_the_target_never_took_is_not_taken_for_one_that_compaction_removed(
    pair: Pair, topic: str
) -> None:
    """A leader that had forgotten the producer refused the first of several batches under way, and took the next."""
    producer_id, now_ms = new_producer_id(pair.target), int(time.time() * 1000)
    create_topic(pair.source, topic)
    create_topic(pair.target, topic)
    produce(pair.source, topic, ({"value": b"%d" % i, "timestamp": now_ms} for i in range(100)))
    produce(pair.target, topic, ({"value": b"other %d" % i} for i in range(5)))
    batch = encode_batch([(None, b"%d" % i, now_ms) for i in range(60, 80)])
    patch_batch(memoryview(batch), 0, producer_id, 0, 60)
    assert append_raw(pair.target, topic, [bytes(batch)]) == [5]
    known = Standing(40, 39, 5, translated="merged")
    place = LeasePartition(
        topic=topic, partition=0, remote=topic, onto=0, producer_id=producer_id, hint=known, stop_at=100
    )
    stopped = run_alone(plan_lease(pair.source, pair.target, producer_id, [place], Rules(), 5))
    print(stopped.facts)
    assert [
        " stopped position-unknown: our records in the target's log go on at offset 5 with sequence 60" in fact
        for fact in stopped.facts
    ] == [True]
    assert stopped.total("records") == 0


def test_counting_a_long_log_takes_little_memory(pair: Pair, topic: str) -> None:
    """Of a merged partition whose progress was lost: all of it is counted."""
    producer_id, dice = new_producer_id(pair.target), random.Random(0)
    create_topic(pair.source, topic)
    create_topic(pair.target, topic)
    produce(pair.source, topic, ({"value": dice.randbytes(RECORD_BYTES)} for _ in range(RECORDS)))

    def copy() -> Copied:
        place = LeasePartition(
            topic=topic, partition=0, remote=topic, onto=0, producer_id=producer_id, stop_at=ends(pair.source, topic)[0]
        )
        return run_alone(plan_lease(pair.source, pair.target, producer_id, [place], Rules(), 20))

    assert copy().total("records") == RECORDS
    tracemalloc.start()
    try:
        found = copy()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.facts == [] and found.total("records") == 0
    assert found.standings[topic, 0].next_offset == RECORDS
    print(f"peak {peak >> 20} MB for a log of {RECORDS * RECORD_BYTES >> 20} MB")
    assert peak < RECORDS * RECORD_BYTES / 3


def test_an_origin_that_the_leader_forgot_holds_up_nobody_and_what_others_wrote_is_read_once(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet, busy = f"{topic}.quiet", f"{topic}.busy"
    producer_id, others = new_producer_id(pair.target), 20
    for servers, name in ((pair.source, quiet), (pair.source, busy), (pair.target, topic), (pair.target, busy)):
        create_topic(servers, name)
    write(pair.source, busy, 0, 5)
    for number in range(others):
        write(pair.target, topic, number, number + 1)
    searched: list[int] = []
    batches = Sides.batches

    def search(self: Sides, place: Place, first: int, end: int) -> Iterator[Batch]:
        await_condition(lambda: total(pair.target, busy) == 5, "its neighbour", 10)
        searched.append(first)
        return batches(self, place, first, end)

    monkeypatch.setattr(Sides, "batches", search)
    monkeypatch.setattr(scout, "COUNT_BYTES", 1)

    def copy(left: dict[tuple[str, int], Standing]) -> Copied:
        known = Standing(0, -1, 0, translated="merged")
        merged = LeasePartition(
            topic=quiet, partition=0, remote=topic, onto=0, producer_id=producer_id, hint=known,
            stop_at=ends(pair.source, quiet)[0],
        )  # fmt: skip
        beside = LeasePartition(topic=busy, partition=0, remote=busy, hint=left.get((busy, 0)), stop_at=5)
        return run_alone(plan_lease(pair.source, pair.target, producer_id + 1, [merged, beside], Rules(), 20), left)

    first = copy({})
    assert searched == list(range(others + 1)), "each search begins where the one before ended"
    assert [f"{quiet}-0 waiting {SEARCHING}" in first.facts, f"{quiet}-0 goes-on " in first.facts] == [True, True]
    searched.clear()
    write(pair.source, quiet, 100, 105)
    assert copy(first.standings).facts == [] and searched == [others], "nobody else could have written for it"
    values = [r.value for r in read_all(pair.target, topic)[0]]
    assert values[others:] == [b"%d" % i for i in range(100, 105)]
