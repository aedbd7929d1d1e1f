"""Whatever a source log holds, the queue writes exactly its records, in order, and holes for everything else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparkmirror.batch.codec import decompress
from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, read_header
from sparkmirror.batch.warm import warm_up
from sparkmirror.copy.queue import CopyQueue, Hole, Ready
from sparkmirror.protocol.fetch import FetchedPartition
from tests.support.logs import aborted_transactions, copyable, make_log
from tests.support.records import Record, decode_section

PRODUCER_ID = 4711
END = 1 << 50  # of a log


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm_up()


def drain(queue: CopyQueue) -> list[Ready | Hole]:
    items: list[Ready | Hole] = []
    while head := queue.head:
        items.append(head)
        if isinstance(head, Hole):
            queue.fill(head.end - head.first)
        else:
            queue.pop_batch()
    return items


def read(ready: Ready) -> list[Record]:
    """What an append of this batch at its place would store, by an independent reader."""
    header = read_header(ready.batch)
    assert has_valid_crc(ready.batch)
    assert (header.first, header.attributes & ~7, header.producer_id) == (0, 0, PRODUCER_ID)
    assert header.records == header.last_delta + 1 == ready.end - ready.first
    section = bytes(decompress(header.codec, ready.batch[HEADER_BYTES:]))
    return decode_section(
        section,
        first=ready.first,
        last_delta=header.last_delta,
        count=header.records,
        base_timestamp=header.base_timestamp,
        append_time=None,
    )


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32),
    committed=st.booleans(),
    largest=st.sampled_from([1 << 30, 500, 1]),
    skipped=st.sampled_from([(), (2,), (1, 3)]),
    left_out=st.sampled_from([0, 0, 1, 4]),
)
def test_the_queue_holds_every_record_at_its_place_and_holes_between(
    seed: int, committed: bool, largest: int, skipped: tuple[int, ...], left_out: int
) -> None:
    log = make_log(seed)
    dice = random.Random(seed)
    begin, end = (log[0].first, log[-1].end) if log else (0, 0)
    position = dice.randint(begin, end)
    stop_at = dice.choice([None, dice.randint(position, end + 5)])
    note(f"position {position}, stop {stop_at}, {len(log)} batches of make_log({seed})")
    queue = CopyQueue(PRODUCER_ID)
    queue.restart(position, dice.choice([0, 2**31 - 20]))
    queue.largest, queue.skip_producers = largest, skipped
    queue.leave_out = {dice.randrange(begin, end) for _ in range(left_out)} if log else set()
    sequence = queue.sequence
    stop = min(end, stop_at) if stop_at is not None else end
    data = b"".join(batch.encode() for batch in log) + b"\0\0cut off"
    aborted = aborted_transactions(log, begin) if committed else ()
    queue.add(FetchedPartition("t", 0, 0, end, end, begin, aborted, -1, memoryview(bytearray(data))), stop_at)
    written: list[Record] = []
    at = position
    for item in drain(queue):
        assert item.first == at, "nothing is left out between items"
        at = item.end
        if isinstance(item, Ready):
            assert item.sequence == sequence
            sequence = (item.last_sequence + 1) & 0x7FFFFFFF
            written += read(item)
    assert at == queue.position == max(position, stop)
    expected = [r for r in copyable(log, committed=committed, skipped=skipped) if position <= r.offset < stop]
    assert written == [r for r in expected if r.offset not in queue.leave_out]


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_fetches_of_any_size_give_the_same_records(seed: int) -> None:
    """A fetch ends anywhere; the next begins at the position."""
    log = make_log(seed)
    dice = random.Random(seed)
    queue = CopyQueue(PRODUCER_ID)
    queue.restart(log[0].first if log else 0, 0)
    index = 0
    while index < len(log):
        take = dice.randint(1, 5)
        data = b"".join(batch.encode() for batch in log[index : index + take])
        aborted = aborted_transactions(log, log[index].first)
        queue.add(FetchedPartition("t", 0, 0, END, END, 0, aborted, -1, memoryview(bytearray(data))), None)
        index = next((i for i, b in enumerate(log) if b.end > queue.position), len(log))
    written = [record for item in drain(queue) if isinstance(item, Ready) for record in read(item)]
    assert written == copyable(log, committed=True)
