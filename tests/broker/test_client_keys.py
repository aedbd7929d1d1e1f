"""What a file says of bounds, clients and errors, seen on real brokers: one lease each, without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import NEWEST, NOWHERE, Bounds, Errors, Rules
from sparkmirror.copy.receipt import SAID, SKIPPED
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce, total
from tests.support.leases import Copied, follow_lease, new_producer_id, run_lease
from tests.support.rows import write_flow_rows
from tests.support.same_log import assert_same_log

pytestmark = pytest.mark.timeout(120)

TOLERANT = Errors(tolerate=True, log=True, log_content=True)


@pytest.fixture
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """Records and bytes that a lease held, at each turn of its loop."""
    seen: list[tuple[int, int]] = []
    step = Copy._step

    def watched(copy: Copy) -> None:
        step(copy)
        seen.append((copy._roster.held_records, copy._roster.held.bytes))

    monkeypatch.setattr(Copy, "_step", watched)
    yield seen


def make(pair: Pair, topic: str, **config: str) -> None:
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1, config={key.replace("_", "."): value for key, value in config.items()})


def write_small_batches(pair: Pair, topic: str) -> int:
    """Batches of 20 records, too large to be merged; their size."""
    values = ({"value": b"%0500d" % i} for i in range(3000))
    produce(pair.source, topic, values, batch_num_messages=20)
    return 20 * 520


def rows(reader: JavaReader, servers: str, topic: str) -> list[tuple[int, bytes | None]]:
    return [(r.offset, r.value) for r in reader.read(servers, topic)[0].records]


# -- bounds


@pytest.mark.parametrize(
    ("bounds", "most_records", "most_batches"),
    [(Bounds(held_records=500), 700, 3000), (Bounds(held_bytes=100_000), 3000, 11)],
    ids=["readahead.queue.capacity", "producer.buffer.memory"],
)
def test_no_more_is_held_than_wanted(
    pair: Pair, topic: str, producer_id: int, held: list[tuple[int, int]], java_reader: JavaReader,
    bounds: Bounds, most_records: int, most_batches: int,
) -> None:  # fmt: skip
    make(pair, topic)
    batch = write_small_batches(pair, topic)
    run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(bounds=bounds))
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)
    bounded = max(records for records, _ in held), max(size for _, size in held)
    held.clear()
    run_lease(pair.source, pair.target, topic, new_producer_id(pair.target), remote=_other(pair, topic))
    free = max(records for records, _ in held), max(size for _, size in held)
    print(f"held at most {bounded} records and bytes, without the bound {free}")
    assert 0 < bounded[0] <= most_records and bounded[1] <= most_batches * batch
    assert free[0] > 1.5 * bounded[0]


def _other(pair: Pair, topic: str) -> str:
    create_topic(pair.target, f"{topic}.free", 1)
    return f"{topic}.free"


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(request_bytes=5_000),
        Bounds(fetch_bytes=4_000),
        Bounds(partition_bytes=1),
        Bounds(fetch_min_bytes=1 << 20, fetch_wait_ms=20),
        Bounds(fetch_wait_ms=0),
    ],
    ids=str,
)
def test_everything_arrives_whatever_the_bounds(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, bounds: Bounds
) -> None:
    make(pair, topic)
    produce(pair.source, topic, ({"value": b"%0100d" % i} for i in range(500)), linger_ms=200)
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(bounds=bounds))
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


def test_an_acknowledgement_that_does_not_come_is_named_and_nothing_is_lost(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make(pair, topic)
    produce(pair.source, topic, [{"value": b"first"}])
    (broker,) = pair.b.brokers

    def hang() -> None:
        await_condition(lambda: total(pair.target, topic) > 0, "the first record")
        broker.pause()
        produce(pair.source, topic, [{"value": b"second"}])
        time.sleep(1.5)
        broker.resume()

    rules = Rules(bounds=Bounds(flush_timeout_s=0.5))
    hanging = threading.Thread(target=hang)
    hanging.start()
    try:
        copied = follow_lease(pair.source, pair.target, topic, producer_id, rules=rules, seconds=4)
    finally:
        hanging.join()
    (fact,) = copied.facts
    assert fact.startswith(f"{topic}-0 waiting flush-timeout: an append to ")
    assert "has not been acknowledged for 0.5 s (offset.flush.timeout.ms); look at" in fact
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


# -- errors


def test_a_record_that_is_too_large_is_left_out_and_said(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make(pair, topic, max_message_bytes="20000")
    produce(pair.source, topic, [{"value": b"before"}, {"key": b"k", "value": b"x" * 99_999}, {"value": b"after"}])
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(errors=TOLERANT))
    assert rows(java_reader, pair.target, topic) == [(0, b"before"), (2, b"after")]
    assert copied.total("skipped") == 1 and [r.kind for r in copied.receipts if r.error] == [SAID, SKIPPED]
    (line,) = [r.error for r in copied.receipts if r.kind == SAID]
    assert "the record at source offset 1 is left out (errors.tolerance): the record at source offset 1 takes" in line
    assert line.endswith(f"key b'k', value b'{'x' * 100}'... (99999 bytes)")
    again = run_lease(pair.source, pair.target, topic, producer_id, hints=copied.standings)
    assert (again.facts, again.total("records")) == ([], 0), "its offset is kept"


@pytest.mark.parametrize("write", [run_lease, write_flow_rows], ids=["batches", "records"])
def test_records_that_a_topic_does_not_take_are_left_out_of_their_batch(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, write: Callable[..., Copied]
) -> None:
    """A compacted topic takes no record without a key; the broker says which ones they are."""
    make(pair, topic, cleanup_policy="compact")
    keys = [b"a", None, b"b", b"c", None, None, b"d"]
    produce(pair.source, topic, ({"key": k, "value": b"%d" % i} for i, k in enumerate(keys)), linger_ms=300)
    stopped = write(pair.source, pair.target, topic, producer_id)
    assert "stopped refused: the target refuses: " in stopped.facts[0]
    copied = write(pair.source, pair.target, topic, producer_id, rules=Rules(errors=TOLERANT))
    assert rows(java_reader, pair.target, topic) == [(i, b"%d" % i) for i, key in enumerate(keys) if key]
    assert copied.total("skipped") == 3


def test_tries_that_fail_for_too_long_stop_the_partition_until_they_succeed(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, [{"value": b"x"}])
    rules = Rules(errors=Errors(retry_timeout_s=0.5))
    began = time.monotonic()
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, seconds=30)
    assert time.monotonic() - began < 10
    (fact,) = copied.facts
    assert (
        f"{topic}-0 stopped retries-exhausted: tries have failed for longer than 0.5 s (errors.retry.timeout)" in fact
    )
    assert f"the last one since the target has no {topic}-0" in fact
    create_topic(pair.target, topic, 1)
    run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, ends=True)


# -- where a partition begins


def test_from_the_end_only_new_records_come_and_none_is_missed(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader
) -> None:
    make(pair, topic)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(50)))
    rules = Rules(begin=NEWEST)
    began = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert (began.facts, began.total("records")) == ([], 0)
    assert began.noted[topic, 0].next_offset == 50, "written down, so that it holds whatever happens"
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(50, 60)))
    run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=began.noted)
    assert rows(java_reader, pair.target, topic) == [(i, b"%d" % i) for i in range(50, 60)]


def test_the_end_of_an_empty_partition_is_written_down_too(pair: Pair, topic: str, producer_id: int) -> None:
    make(pair, topic)
    rules = Rules(begin=NEWEST)
    began = follow_lease(pair.source, pair.target, topic, producer_id, rules=rules, seconds=1)
    produce(pair.source, topic, [{"value": b"between two leases"}])
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=rules, hints=began.noted)
    assert copied.total("records") == 1


def test_from_a_time_on(pair: Pair, topic: str, producer_id: int, java_reader: JavaReader) -> None:
    make(pair, topic)
    now = int(time.time() * 1000)
    ages_s = [7200, 3700, 3000, 10]
    for age in ages_s:
        produce(pair.source, topic, [{"value": b"%d" % age, "timestamp": now - age * 1000}])
    run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(begin=3600.0))
    assert rows(java_reader, pair.target, topic) == [(2, b"3000"), (3, b"10")]


def test_where_nothing_says_where_to_begin_it_does_not(pair: Pair, topic: str, producer_id: int) -> None:
    make(pair, topic)
    produce(pair.source, topic, [{"value": b"x"}])
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=Rules(begin=NOWHERE))
    (fact,) = copied.facts
    assert "stopped no-position: nothing says where to begin, and consumer.auto.offset.reset is none; set" in fact
    begun = run_lease(pair.source, pair.target, topic, producer_id)
    onwards = run_lease(pair.source, pair.target, topic, producer_id, hints=begun.standings, rules=Rules(begin=NOWHERE))
    assert onwards.facts == []
