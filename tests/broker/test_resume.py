"""Where a lease goes on after anything that can happen between two: nothing twice, nothing lost, the same offsets."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from sparkmirror.batch.filler import build_filler
from sparkmirror.batch.header import patch_batch, read_header
from sparkmirror.copy import log_start
from sparkmirror.copy.lease import NEVER, LeasePartition, Rules
from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import append_batch, fetch_batch_at
from sparkmirror.net.offsets import EARLIEST, LATEST, describe_producer
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.grantor import LocalGrantor
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.leases import Copied, address, ends, new_producer_id, plan_lease, run_copy, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import make_late_start, make_transactions, remove_records, write_markers

pytestmark = pytest.mark.timeout(180)

DAY_MS = 86_400_000


@pytest.fixture
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


def write_numbers(servers: str, topic: str, first: int, end: int, *, age_ms: int = 0) -> None:
    stamp = int(time.time() * 1000) - age_ms
    produce(servers, topic, ({"value": b"%d" % i, "timestamp": stamp} for i in range(first, end)))


def values(reader: JavaReader, servers: str, topic: str) -> list[bytes | None]:
    return [record.value for record in reader.read(servers, topic, "read_uncommitted")[0].records]


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % i for i in range(first, end)]


@pytest.mark.parametrize("rules", [Rules(), Rules(preserve=NEVER)], ids=["equal", "translated"])
@pytest.mark.parametrize("known", ["newest", "older", "oldest"])
def test_a_crash_between_append_and_progress_repeats_nothing(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, rules: Rules, known: str
) -> None:
    """The progress that survived is the last, one from before, or only what was written before the first append."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_numbers(pair.source, topic, 0, 300)
    first = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    write_numbers(pair.source, topic, 300, 500)
    second = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=first.standings)
    hints = {"newest": second.standings, "older": first.standings, "oldest": first.noted}[known]
    write_numbers(pair.source, topic, 500, 600)
    third = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=hints)
    assert (third.facts, third.total("records")) == ([], 100)
    assert values(java_reader, pair.target, topic) == numbers(0, 600)


def test_equal_offsets_need_no_progress_at_all(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_transactions(pair.source, topic, transactions=60, partitions=2, aborted_share=0.5)
    create_topic(pair.target, topic, 2)
    run_lease(pair.source, pair.target, topic, producer_id)
    produce(pair.source, topic, ({"value": b"more", "partition": i % 2} for i in range(50)))
    assert run_lease(pair.source, pair.target, topic, producer_id).total("records") == 50
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_translated_offsets_without_progress_are_not_taken_for_equal_ones_where_the_source_has_a_marker(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """Transactions of one record each: the target's last record stands where the source has a marker."""
    rules = Rules(preserve=NEVER)
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    known = None
    for count in (11, 1):
        for _ in range(count):
            produce(pair.source, topic, [{"value": b"%d" % count}])
            write_markers(pair.source, topic, 1)
        known = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=known).standings
    assert ends(pair.target, topic) == {0: 12}
    write_numbers(pair.source, topic, 100, 110)
    again = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert "stopped diverged" in again.facts[-1] and ends(pair.target, topic) == {0: 12}


@pytest.mark.parametrize("known", [None, Standing(0, -1, 0)], ids=["lost", "older"])
def test_translated_offsets_without_progress_are_not_taken_for_equal_ones_behind_a_hole(
    pair: Pair, topic: str, producer_id: int, known: Standing | None
) -> None:
    """The source holds nothing at any of the offsets at which the target does. Progress was lost, or is too old."""
    rules = Rules(preserve=NEVER)
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_markers(pair.source, topic, 400)
    write_numbers(pair.source, topic, 0, 300)
    assert run_lease(pair.source, pair.target, topic, producer_id, rules=rules).facts == []
    assert ends(pair.target, topic) == {0: 300}
    write_numbers(pair.source, topic, 300, 310)
    hints = {} if known is None else {(topic, 0): known}
    again = run_lease(pair.source, pair.target, topic, producer_id, hints=hints)
    assert "stopped position-unknown: offsets are translated and no progress says so" in again.facts[-1]
    assert ends(pair.target, topic) == {0: 300}


def test_what_compaction_removed_from_the_source_since_is_no_divergence(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """The records that the target's tail holds are gone from the source."""
    create_topic(
        pair.source,
        topic,
        1,
        config={"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"},
    )
    create_topic(pair.target, topic, 1)
    produce(pair.source, topic, ({"key": b"k%d" % (i % 5), "value": b"%d" % i} for i in range(100)))
    first = run_lease(pair.source, pair.target, topic, producer_id)
    before = values(java_reader, pair.target, topic)

    def is_cleaned() -> bool:
        produce(pair.source, topic, [{"key": b"k%d" % i, "value": b"new"} for i in range(5)])
        return len(java_reader.read(pair.source, topic)[0].records) < 60

    await_condition(is_cleaned, "the cleaner", deadline_s=90)
    again = run_lease(pair.source, pair.target, topic, producer_id)
    assert again.facts == []
    assert values(java_reader, pair.target, topic)[:100] == before
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, compacted=True)
    assert first.total("records") == 100


def test_records_older_than_the_brokers_memory_are_copied_once(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """The leader forgets a producer by its records' timestamps: the tail is all that is left to go by."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_numbers(pair.source, topic, 0, 200, age_ms=3 * DAY_MS)
    first = run_lease(pair.source, pair.target, topic, producer_id)
    await_condition(lambda: not _is_remembered(pair.target, topic, producer_id), "the broker to forget", deadline_s=30)
    write_numbers(pair.source, topic, 200, 300, age_ms=3 * DAY_MS)
    began = time.monotonic()
    second = run_lease(pair.source, pair.target, topic, producer_id, hints=first.standings, unguarded_wait_s=3)
    assert time.monotonic() - began >= 3, "an earlier lease could still have written"
    assert second.facts == []
    assert values(java_reader, pair.target, topic) == numbers(0, 300)


def _is_remembered(servers: str, topic: str, producer_id: int) -> bool:
    with Cluster(address(servers)) as cluster:
        leader = cluster.fetch_metadata([topic]).topics[topic].leaders[0]
        return describe_producer(cluster, {(topic, 0): leader}, producer_id)[topic, 0] is not None


def test_sequences_pass_the_largest_number_and_go_on_at_zero(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_numbers(pair.source, topic, 0, 10)
    nearly = Standing(0, 2**31 - 15, 0)
    _append_as_the_mirror(pair, topic, producer_id, nearly.last_sequence + 1)
    first = run_lease(pair.source, pair.target, topic, producer_id)
    write_numbers(pair.source, topic, 10, 100)
    second = run_lease(pair.source, pair.target, topic, producer_id, hints=first.standings)
    assert second.facts == [] and second.standings[topic, 0].last_sequence == 85
    assert values(java_reader, pair.target, topic) == numbers(0, 100)


def _append_as_the_mirror(pair: Pair, topic: str, producer_id: int, sequence: int) -> None:
    """The source's first batch, appended as the mirror would with this sequence."""
    with Cluster(address(pair.source)) as source, Cluster(address(pair.target)) as target:
        here, there = (c.fetch_metadata([topic]).topics[topic] for c in (source, target))
        found = fetch_batch_at(source, here, 0, 0)
        assert found is not None
        patch_batch(found[1], read_header(found[1]).attributes, producer_id, 0, sequence)
        append_batch(target, there, 0, bytes(found[1]))


def test_two_mirrors_at_once_write_every_record_once(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 2)
    create_topic(pair.target, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(20_000)))
    results: list[Copied] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(run_lease(pair.source, pair.target, topic, producer_id, seconds=20))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    run_lease(pair.source, pair.target, topic, producer_id)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_a_hole_that_was_filled_twice_costs_equal_offsets_and_no_record(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_numbers(pair.source, topic, 0, 50)
    first = run_lease(pair.source, pair.target, topic, producer_id)
    write_numbers(pair.source, topic, 50, 100)
    write_markers(pair.target, topic, 3)
    second = run_lease(pair.source, pair.target, topic, producer_id, hints=first.standings)
    assert second.facts == []
    assert "markers stand at target offsets where the source has records" in second.noted[topic, 0].translated
    assert values(java_reader, pair.target, topic) == numbers(0, 100)
    assert second.standings[topic, 0].target_end == 103
    write_numbers(pair.source, topic, 100, 150)
    run_lease(pair.source, pair.target, topic, producer_id, hints=second.standings)
    assert values(java_reader, pair.target, topic) == numbers(0, 150)


def test_a_log_start_that_a_dying_broker_forgot_is_set_again(topic: str, pair: Pair, java_reader: JavaReader) -> None:
    with KafkaCluster(name="C", overrides=QUICK_FAILOVER) as target:
        servers = target.bootstrap_servers
        producer_id = new_producer_id(servers)
        make_late_start(pair.source, topic)
        create_topic(servers, topic, 1)
        first = run_lease(pair.source, servers, topic, producer_id)
        assert ends(servers, topic, EARLIEST) == {0: 400}
        (broker,) = target.brokers
        broker.kill()
        broker.start()
        broker.wait_ready()
        await_condition(lambda: 0 in ends(servers, topic), "the leader")
        forgotten = ends(servers, topic, EARLIEST) == {0: 0}
        produce(pair.source, topic, [{"value": b"after"}])
        second = run_lease(pair.source, servers, topic, producer_id, hints=first.standings)
        assert second.facts == []
        assert ends(servers, topic, EARLIEST) == {0: 400}, f"the broker had forgotten it: {forgotten}"
        assert_same_log(java_reader, pair.source, topic, servers, topic, beginnings=True, ends=True)


def test_filling_up_to_the_log_start_goes_on_where_it_was_broken_off(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    """A lease that ended in the middle of it left filler behind."""
    make_late_start(pair.source, topic)
    create_topic(pair.target, topic, 1)
    with Cluster(address(pair.target)) as target:
        there = target.fetch_metadata([topic]).topics[topic]
        now = int(time.time() * 1000)
        append_batch(target, there, 0, bytes(build_filler(150, now, producer_id, 0, 0)))
    noted = {(topic, 0): Standing(400, -1, 0, log_start=400)}
    copied = run_lease(pair.source, pair.target, topic, producer_id, hints=noted)
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


def test_a_lease_that_ends_while_it_fills_up_to_the_log_start_tells_its_successor(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver reads progress when it begins to lead: later it knows what leases hand over."""
    make_late_start(pair.source, topic)
    create_topic(pair.target, topic, 1)
    is_over = threading.Event()

    def append_until_it_is_over(*where: Any) -> int:
        first = append_batch(*where)
        is_over.wait()
        return first

    monkeypatch.setattr(log_start, "MOST_RECORDS", 100)
    monkeypatch.setattr(log_start, "append_batch", append_until_it_is_over)
    threading.Timer(1.5, is_over.set).start()
    first = run_lease(pair.source, pair.target, topic, producer_id, seconds=1.0)
    assert ends(pair.target, topic) == {0: 100}, "of the 400 that it takes"
    second = run_lease(pair.source, pair.target, topic, producer_id, hints=first.standings)
    assert second.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


def test_filling_up_to_the_log_start_goes_on_in_the_lease_in_which_it_failed(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_late_start(pair.source, topic)
    create_topic(pair.target, topic, 1)
    answers = iter([True, False])

    def append_and_fail_once(*where: Any) -> int:
        if next(answers, True):
            return append_batch(*where)
        raise ConnectionLostError("the broker is gone")

    monkeypatch.setattr(log_start, "MOST_RECORDS", 100)
    monkeypatch.setattr(log_start, "append_batch", append_and_fail_once)
    copied = run_lease(pair.source, pair.target, topic, producer_id, seconds=20.0)
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


def test_a_source_whose_log_start_moves_before_anything_is_copied_has_no_gap(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make_late_start(pair.source, topic)
    create_topic(pair.target, topic, 1)
    noted = {(topic, 0): Standing(400, -1, 0, log_start=400)}
    remove_records(pair.source, topic, 600)
    copied = run_lease(pair.source, pair.target, topic, producer_id, hints=noted)
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, beginnings=True, ends=True)


def test_an_operators_offset_is_where_it_begins(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_numbers(pair.source, topic, 0, 100)
    run_lease(pair.source, pair.target, topic, producer_id, hints={(topic, 0): Standing(40)})
    read = java_reader.read(pair.target, topic)[0].records
    assert [r.offset for r in read] == list(range(40, 100))
    assert [r.value for r in read] == numbers(40, 100)
    assert ends(pair.target, topic, LATEST) == {0: 100}


def test_a_lease_lasts_as_long_as_it_is_renewed_and_ends_when_it_is_recalled(
    pair: Pair, topic: str, producer_id: int
) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    lease = plan_lease(
        pair.source,
        pair.target,
        producer_id,
        [LeasePartition(topic=topic, partition=0, remote=topic)],
        Rules(),
        seconds=0.5,
    )
    with LocalGrantor() as grantor:
        grantor.renew(60.0)
        copying = threading.Thread(target=run_copy, args=(lease, grantor))
        copying.start()
        time.sleep(1.0)  # it would have ended
        write_numbers(pair.source, topic, 0, 10)
        await_condition(lambda: any(r.source_end == 10 for r in grantor.receipts), "receipts meanwhile", 20)
        assert copying.is_alive()
        grantor.recall()
        copying.join(10)
        assert grantor.standings[topic, 0].next_offset == 10
