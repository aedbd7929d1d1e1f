"""From the answer to a fetch to the requests that append it, in one pass of compiled code. Pure.

    fetch answer   | t-0: b1 b2 b3 | t-1: b4 | t-2: |       each batch with its CRC proven
    appends        | t-0: b1+b2+b3 | t-1: b4 |              one batch a partition and request, laid out as they are sent

Only what passes as it is, or is merged with its neighbours, is plain. If anything is not, nothing of the answer is
carried and nothing was changed, the answer included: batches are copied into the requests and patched there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkmirror.batch.build import describe_sections
from sparkmirror.batch.crc import crc32c_of
from sparkmirror.batch.header import CRC_AT, CRC_FROM, HEADER_BYTES, LENGTH_FROM, MAGIC
from sparkmirror.batch.kernel import Bytes, copy_bytes, kernel
from sparkmirror.batch.rewrite import OUT_END, OUT_START, RUN_BASE, RUN_COUNT, RUN_MAX, SECTION_COLUMNS
from sparkmirror.batch.rewrite import rewrite_sections as rewrite
from sparkmirror.batch.scan import (
    AFTER,
    ATTRIBUTES,
    COLUMNS,
    END,
    FIRST,
    FROM,
    KIND,
    PART_COLUMNS,
    PASS,
    START,
    TO,
    big_endian,
    group_rows,
    walk_batches,
)
from sparkmirror.copy.lane.answers import (
    FOUND_COLUMNS,
    FOUND_FROM,
    FOUND_HIGH,
    FOUND_TO,
    UNUSUAL,
    read_fetch,
)
from sparkmirror.copy.lane.table import (
    EPOCH,
    HELD,
    IN_FLIGHT,
    KNOWN_UNTIL,
    LARGEST,
    LEADER_EPOCH,
    PARTITION,
    POSITION,
    PRODUCER,
    SENT_BYTES,
    SENT_COLUMNS,
    SENT_END,
    SENT_FIRST,
    SENT_REBUILT,
    SENT_ROW,
    SENT_SEQUENCE,
    SEQUENCE,
    TARGET,
    TARGET_PARTITION,
    TARGET_TOPIC,
    TOPIC,
    Keys,
    Table,
)
from sparkmirror.copy.queue import LARGEST_RUN_BYTES, MERGE_BYTES, PRODUCER_EPOCH, SEQUENCE_MASK
from sparkmirror.protocol.fetch import HEAD

# A batch that goes out: of which row, in which of its requests, and its bytes: in the answer, or among those written
# anew.
BATCH_ROW, BATCH_TURN, BATCH_FROM, BATCH_TO, BATCH_FIRST, BATCH_END, BATCH_ANEW = range(7)
BATCH_COLUMNS = 7
# A request: to which target, its bytes, and its rows of what was sent.
REQUEST_TARGET, REQUEST_FROM, REQUEST_TO, SENT_FROM, SENT_TO = range(5)
REQUEST_COLUMNS = 5

MOST_TURNS = 5  # requests with batches of one partition that may be under way
BUSY = -2  # so many are
_CODEC = 0x07
_KEPT = 0xFFFF ^ 0x10 ^ 0x40  # attributes but those of a transaction and of the source's cleaner
_ALL_IN_SYNC = -1
_NO_LEADER_EPOCH = -1
_LONGEST_GROWTH = 22
_GROWTH_BYTES = 256 << 10  # that records and requests may take more than the answer
_AROUND_BATCH = 64  # bytes of a request beside its batches and names, a batch


@kernel
def put(out: Bytes, at: int, value: int, size: int) -> int:
    """Big endian; where it ends."""
    for i in range(size):
        out[at + i] = (value >> (8 * (size - 1 - i))) & 0xFF
    return at + size


@kernel
def put_count(out: Bytes, at: int, count: int, flexible: bool) -> int:
    if not flexible:
        return put(out, at, count, 4)
    value = count + 1
    while value >= 0x80:
        out[at] = (value & 0x7F) | 0x80
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@kernel
def put_key(out: Bytes, at: int, topic: int, keys: Keys) -> int:
    begin, end = keys.starts[topic], keys.starts[topic + 1]
    copy_bytes(out, at, keys.blob, begin, end - begin)
    return int(at + end - begin)


@kernel
def plan_batches(
    data: Bytes, found: Table, table: Table, now: int, free: int, anew: Bytes, batches: Table, epochs: Table
) -> int:
    """Which batches go out; `UNUSUAL` if any can't pass or be merged, `BUSY` if too much is under way.

    `epochs`: of each row's last batch.
    """
    none = np.empty(0, np.int64)
    rows = np.empty((64, COLUMNS), np.int64)
    parts = np.empty((64, PART_COLUMNS), np.int64)
    runs = np.empty((1, 6), np.int64)
    used = written = 0
    for i in range(len(found)):
        begin, end = found[i, FOUND_FROM], found[i, FOUND_TO]
        if begin == end:
            continue
        row = table[i]
        view = data[begin:end]
        while True:
            error, count, _, epoch, _ = walk_batches(
                view, row[POSITION], found[i, FOUND_HIGH], 1 << 62, none, none, none, none, row[LARGEST], rows
            )
            if count <= len(rows):
                break
            rows = np.empty((count, COLUMNS), np.int64)
            parts = np.empty((count, PART_COLUMNS), np.int64)
        if error or count == 0 or not _all_whole(view, rows[:count], row[POSITION]):
            return UNUSUAL
        epochs[i] = epoch
        turn = 0
        for p in range(group_rows(rows[:count], min(MERGE_BYTES, row[LARGEST]), parts)):
            first, behind = parts[p, FROM], parts[p, TO]
            is_merged = behind - first > 1 and not rows[first, ATTRIBUTES] & _CODEC
            for k in range(first, first + 1 if is_merged else behind):
                if turn == free:
                    return BUSY if free < MOST_TURNS else UNUSUAL
                batch = batches[used]
                batch[BATCH_ROW], batch[BATCH_TURN], batch[BATCH_ANEW] = i, turn, is_merged
                batch[BATCH_FIRST], batch[BATCH_END] = rows[k, FIRST], rows[behind - 1 if is_merged else k, END]
                if is_merged:
                    written_to = _merge(view, rows[first:behind], row[LARGEST], anew, written, runs)
                    if written_to == UNUSUAL:
                        return UNUSUAL
                    batch[BATCH_FROM], batch[BATCH_TO] = written, written_to
                    written = written_to
                else:
                    batch[BATCH_FROM], batch[BATCH_TO] = begin + rows[k, START], begin + rows[k, AFTER]
                used += 1
                turn += 1
        # The first one of a while goes alone: a leader that has forgotten us would take any.
        if row[IN_FLIGHT] + turn > 1 and now >= row[KNOWN_UNTIL]:
            return BUSY if turn == 1 else UNUSUAL
    return used


@kernel
def _all_whole(view: Bytes, rows: Table, position: int) -> bool:
    """Whether all pass, one behind the other from the position on, and are as the source's leader stored them."""
    for k in range(len(rows)):
        start, after = rows[k, START], rows[k, AFTER]
        if rows[k, KIND] != PASS or rows[k, FIRST] != position:
            return False
        if crc32c_of(view, start + CRC_FROM, after) != big_endian(view, start + CRC_AT, 4) & 0xFFFFFFFF:
            return False
        position = rows[k, END]
    return True


@kernel
def _merge(view: Bytes, rows: Table, largest: int, anew: Bytes, at: int, runs: Table) -> int:
    """Write their records as one batch, with a header as a producer's, but for who that is. Where it ends."""
    sections = np.empty((len(rows), SECTION_COLUMNS), np.int64)
    describe_sections(rows, sections)
    records = rows[-1, END] - rows[0, FIRST]
    room = HEADER_BYTES + rows[-1, AFTER] - rows[0, START] + records * _LONGEST_GROWTH
    if at + room > len(anew):
        return UNUSUAL
    out = anew[at : at + room]
    limit = min(largest, LARGEST_RUN_BYTES)
    error, count = rewrite(view, sections, rows[0, FIRST], rows[-1, END], limit, out, runs)
    if error or count != 1 or runs[0, OUT_START] != 0 or runs[0, RUN_COUNT] != records:
        return UNUSUAL
    size = runs[0, OUT_END]
    put(out, 8, size - LENGTH_FROM, 4)
    put(out, 12, _NO_LEADER_EPOCH, 4)
    out[16] = MAGIC
    put(out, CRC_FROM, 0, 2)
    put(out, 23, records - 1, 4)
    put(out, 27, runs[0, RUN_BASE], 8)
    put(out, 35, runs[0, RUN_MAX], 8)
    put(out, 57, records, 4)
    return int(at + size)


@kernel
def _make_ours(out: Bytes, start: int, end: int, producer: int, sequence: int) -> None:
    """A batch as our producer sends it: base offset 0, no transaction, its CRC."""
    put(out, start, 0, 8)
    put(out, start + CRC_FROM, big_endian(out, start + CRC_FROM, 2) & _KEPT, 2)
    put(out, start + 43, producer, 8)
    put(out, start + 51, PRODUCER_EPOCH, 2)
    put(out, start + 53, sequence, 4)
    put(out, start + CRC_AT, crc32c_of(out, start + CRC_FROM, end), 4)


@kernel
def lay_out(
    data: Bytes,
    anew: Bytes,
    batches: Table,
    table: Table,
    targets: int,
    flexible: bool,
    keys: Keys,
    timeout_ms: int,
    room: int,
    out: Bytes,
    sent: Table,
    requests: Table,
) -> int:
    """The bodies of the requests, and what each sends. Rows go on behind them. There is `room_for` all of it.

    `room`: bytes that are left free in front of each.
    """
    used = at = done = 0
    for target in range(targets):
        for turn in range(MOST_TURNS):
            topics = _count_topics(batches, table, turn, target)
            if topics == 0:
                continue
            request = requests[used]
            request[REQUEST_TARGET], request[REQUEST_FROM], request[SENT_FROM] = target, at, done
            at = _put_head(out, at + room, topics, flexible, timeout_ms)
            b = 0
            while b < len(batches):
                row = table[batches[b, BATCH_ROW]]
                if batches[b, BATCH_TURN] != turn or row[TARGET] != target:
                    b += 1
                    continue
                topic = row[TARGET_TOPIC]
                behind, count = _count_of_topic(batches, b, table, turn, target, topic)
                at = put_count(out, put_key(out, at, topic, keys), count, flexible)
                for k in range(b, behind):
                    row = table[batches[k, BATCH_ROW]]
                    if batches[k, BATCH_TURN] == turn and row[TARGET] == target:
                        at = _put_batch(data, anew, batches[k], row, flexible, out, at, sent[done])
                        done += 1
                if flexible:
                    at = put(out, at, 0, 1)
                b = behind
            if flexible:
                at = put(out, at, 0, 1)
            request[REQUEST_TO], request[SENT_TO] = at, done
            used += 1
    return used


@kernel
def room_for(batches: Table, table: Table, keys: Keys) -> int:
    """In how many bytes these batches find room, in whatever requests."""
    size = 0
    for b in range(len(batches)):
        topic = table[batches[b, BATCH_ROW], TARGET_TOPIC]
        size += batches[b, BATCH_TO] - batches[b, BATCH_FROM] + keys.starts[topic + 1] - keys.starts[topic]
        size += _AROUND_BATCH
    return int(size)


@kernel
def _count_topics(batches: Table, table: Table, turn: int, target: int) -> int:
    topics, topic = 0, -1
    for b in range(len(batches)):
        row = table[batches[b, BATCH_ROW]]
        if batches[b, BATCH_TURN] == turn and row[TARGET] == target and row[TARGET_TOPIC] != topic:
            topic = row[TARGET_TOPIC]
            topics += 1
    return topics


@kernel
def _put_head(out: Bytes, at: int, topics: int, flexible: bool, timeout_ms: int) -> int:
    """No transactional id, all replicas in sync."""
    at = put(out, at, 0, 1) if flexible else put(out, at, -1, 2)
    at = put(out, put(out, at, _ALL_IN_SYNC, 2), timeout_ms, 4)
    return put_count(out, at, topics, flexible)


@kernel
def _count_of_topic(batches: Table, begin: int, table: Table, turn: int, target: int, topic: int) -> tuple[int, int]:
    """Where the neighbours of one topic end, and how many of them go into this request."""
    count = 0
    b = begin
    while b < len(batches):
        row = table[batches[b, BATCH_ROW]]
        if batches[b, BATCH_TURN] == turn and row[TARGET] == target:
            if row[TARGET_TOPIC] != topic:
                break
            count += 1
        b += 1
    return b, count


@kernel
def _put_batch(
    data: Bytes, anew: Bytes, batch: Table, row: Table, flexible: bool, out: Bytes, at: int, sent: Table
) -> int:
    begin, size = batch[BATCH_FROM], batch[BATCH_TO] - batch[BATCH_FROM]
    at = put_count(out, put(out, at, row[TARGET_PARTITION], 4), size, flexible)
    copy_bytes(out, at, anew if batch[BATCH_ANEW] else data, begin, size)
    records = batch[BATCH_END] - batch[BATCH_FIRST]
    # Turns of a row come one after the other, so its sequence is that of the turn.
    _make_ours(out, at, at + size, row[PRODUCER], row[SEQUENCE])
    sent[SENT_ROW], sent[SENT_FIRST], sent[SENT_END] = batch[BATCH_ROW], batch[BATCH_FIRST], batch[BATCH_END]
    sent[SENT_BYTES], sent[SENT_SEQUENCE], sent[SENT_REBUILT] = size, row[SEQUENCE], batch[BATCH_ANEW]
    row[SEQUENCE] = (row[SEQUENCE] + records) & SEQUENCE_MASK
    row[POSITION] = batch[BATCH_END]
    row[IN_FLIGHT] += 1
    row[HELD] += records
    at += size
    return put(out, at, 0, 1) if flexible else at


@kernel
def put_wishes(
    found: Table,
    table: Table,
    flexible: bool,
    keys: Keys,
    partition_bytes: int,
    tail: Bytes,
    out: Bytes,
    at: int,
) -> int:
    """What the next fetch asks for, behind its head: the partitions that moved. `tail`: how it ends."""
    topics, topic = 0, -1
    for i in range(len(found)):
        if found[i, FOUND_FROM] < found[i, FOUND_TO]:
            topics += table[i, TOPIC] != topic
            topic = table[i, TOPIC]
    at = put_count(out, at, topics, flexible)
    i = 0
    while i < len(found):
        if found[i, FOUND_FROM] == found[i, FOUND_TO]:
            i += 1
            continue
        topic = table[i, TOPIC]
        behind, count = i, 0
        while behind < len(found) and table[behind, TOPIC] == topic:
            count += found[behind, FOUND_FROM] < found[behind, FOUND_TO]
            behind += 1
        at = put_count(out, put_key(out, at, topic, keys), count, flexible)
        for k in range(i, behind):
            if found[k, FOUND_FROM] < found[k, FOUND_TO]:
                at = _put_wish(out, at, table[k], flexible, partition_bytes)
        if flexible:
            at = put(out, at, 0, 1)
        i = behind
    copy_bytes(out, at, tail, 0, len(tail))
    return at + len(tail)


@kernel
def _put_wish(out: Bytes, at: int, row: Table, flexible: bool, most_bytes: int) -> int:
    """Partition, leader epoch, offset, (last fetched epoch,) log start, most bytes."""
    at = put(out, put(out, at, row[PARTITION], 4), row[LEADER_EPOCH], 4)
    at = put(out, at, row[POSITION], 8)
    if flexible:
        at = put(out, at, row[EPOCH], 4)
    at = put(out, put(out, at, -1, 8), most_bytes, 4)
    return put(out, at, 0, 1) if flexible else at


class Desk(NamedTuple):
    """Memory that a lane works in; what stands there is of use until the next answer. `tail`: see `put_wishes`."""

    found: Table
    epochs: Table
    batches: Table
    requests: Table
    sent: Table
    anew: Bytes
    out: Bytes
    wish: Bytes
    tail: Bytes


def make_desk(rows: int, targets: int, most_bytes: int, tail: bytes, names: int, room: int) -> Desk:
    """For so many partitions and target brokers; answers of up to `most_bytes`. `names`: bytes of the source's keys.

    `room`: for what stands in front of each request.
    """
    batches = MOST_TURNS * rows
    return Desk(
        found=np.empty((rows, FOUND_COLUMNS), np.int64),
        epochs=np.empty(rows, np.int64),
        batches=np.empty((batches, BATCH_COLUMNS), np.int64),
        requests=np.empty((MOST_TURNS * targets, REQUEST_COLUMNS), np.int64),
        sent=np.empty((batches, SENT_COLUMNS), np.int64),
        anew=np.empty(2 * most_bytes, np.uint8),
        out=np.empty(most_bytes + _GROWTH_BYTES, np.uint8),
        wish=np.empty(room + HEAD.size + names + _AROUND_BATCH * (rows + 1) + len(tail), np.uint8),
        tail=np.array(bytearray(tail), np.uint8),
    )


@kernel
def carry(
    data: Bytes,
    by_id: tuple[bool, bool],
    keys: tuple[Keys, Keys],
    table: Table,
    desk: Desk,
    source: int,
    session: int,
    targets: int,
    free: int,
    now: int,
    timeout_ms: int,
    room: int,
) -> int:
    """The answer to a fetch becomes requests and `desk.sent`. How many requests.

    `by_id`, `keys`: of source and target. `free`: so many may be sent to each target. `UNUSUAL` if anything is not
    plain, `BUSY` if other answers are to be awaited first: then nothing has changed.
    """
    if read_fetch(data, by_id[0], source, session, keys[0], table, desk.found) == UNUSUAL:
        return UNUSUAL
    count = plan_batches(data, desk.found, table, now, free, desk.anew, desk.batches, desk.epochs)
    if count < 0:
        return count
    batches = desk.batches[:count]
    if room_for(batches, table, keys[1]) + room * count > len(desk.out):
        return UNUSUAL
    for i in range(len(desk.found)):
        if desk.found[i, FOUND_FROM] < desk.found[i, FOUND_TO] and desk.epochs[i] >= 0:
            table[i, EPOCH] = desk.epochs[i]
    return lay_out(
        data, desk.anew, batches, table, targets, by_id[1], keys[1], timeout_ms, room, desk.out, desk.sent,
        desk.requests,
    )  # fmt: skip
