"""The memory of a lease, where one partition waits beside others that go on."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import TRANSACTIONS, Bounds, Rules
from sparkmirror.copy.slow_fill import SlowFill
from sparkmirror.net import inbox
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import write_markers

pytestmark = pytest.mark.timeout(120)

MOST_BYTES = 4 << 20
OTHERS = (1, 2, 3)
VALUE = bytes(4096)
RECORDS, BATCH = 3200, 64  # such batches are passed, not merged, and one of each partition fits into an answer
BOUNDS = Bounds(held_bytes=MOST_BYTES, fetch_bytes=1 << 20, partition_bytes=300_000)


@pytest.fixture
def live_bytes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The size of all answers that are in memory, at each turn of a lease's loop."""
    sizes: dict[int, int] = {}
    seen: list[int] = []
    make, step = inbox._make_frame, Copy._step

    def make_frame(size: int) -> memoryview:
        frame = make(size)
        array: Any = frame.obj
        sizes[id(array)] = size
        weakref.finalize(array, sizes.pop, id(array))
        return frame

    def watched(copy: Copy) -> None:
        step(copy)
        seen.append(sum(sizes.values()))

    monkeypatch.setattr(inbox, "_make_frame", make_frame)
    monkeypatch.setattr(Copy, "_step", watched)
    yield seen


@pytest.mark.parametrize("share", [0.25, 1.0], ids=["few", "many"])
def test_a_partition_that_waits_takes_neither_memory_nor_time_from_the_others(
    pair: Pair,
    topic: str,
    java_reader: JavaReader,
    live_bytes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    share: float,
) -> None:
    """Behind a hole that nobody fills stand few records or many, in the same answers as those of others."""
    create_topic(pair.source, topic, 4)
    create_topic(pair.target, topic, 4)
    write_markers(pair.source, topic, 1)
    values = (
        {"value": VALUE, "partition": p} for n in range(RECORDS) for p in (0, *OTHERS) if p or n < share * RECORDS
    )
    produce(pair.source, topic, values, batch_num_messages=BATCH, linger_ms=500)
    goes_on, fill = threading.Event(), SlowFill.fill

    def fill_late(*arguments: Any) -> Any:
        goes_on.wait()
        return fill(*arguments)

    monkeypatch.setattr(SlowFill, "fill", fill_late)
    rules = Rules(bounds=BOUNDS, fill_with=TRANSACTIONS)
    producer_id = new_producer_id(pair.target)
    lease = threading.Thread(
        target=run_lease, args=(pair.source, pair.target, topic, producer_id), kwargs={"rules": rules}
    )
    lease.start()
    try:
        await_condition(lambda: [ends(pair.target, topic)[p] for p in OTHERS] == [RECORDS] * 3, "the others", 30)
        assert ends(pair.target, topic)[0] == 0
    finally:
        goes_on.set()
        lease.join()
    print(f"at most {max(live_bytes):,} bytes in memory where {MOST_BYTES:,} are permitted")
    assert max(live_bytes) < 1.1 * MOST_BYTES
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)
