"""What a lane knows of its partitions, as compiled code reads and writes it: a row each.

    SOURCE, TARGET        the brokers between which it goes, and what it is called there
    POSITION..EPOCH       of the queue: the next source offset that was not fetched, the next sequence
    SOURCE_NEXT..         of the cursor: where both logs stand by what was acknowledged
    RUN_SOURCE..BYTES     what was acknowledged since somebody looked (`IS_DIRTY`), for the receipts

Topics are found by their keys: what requests name them by, a name or an id. A request of either side has its own keys.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.kernel import Bytes, kernel, same_bytes
from sparkmirror.protocol.fetch import TopicKey
from sparkmirror.protocol.wire import encode_string

Table = NDArray[np.int64]
Files = NDArray[np.int32]

(
    SOURCE, TOPIC, PARTITION, LEADER_EPOCH, TARGET, TARGET_TOPIC, TARGET_PARTITION, PRODUCER, LARGEST,
    POSITION, SEQUENCE, EPOCH,
    SOURCE_NEXT, TARGET_NEXT, LAST_SEQUENCE, IN_FLIGHT, HELD, KNOWN_UNTIL,
    RUN_SOURCE, RUN_TARGET, RECORDS, REBUILT, BYTES, IS_DIRTY,
) = range(24)  # fmt: skip
COLUMNS = 24

# What was sent: a batch a row.
SENT_ROW, SENT_FIRST, SENT_END, SENT_BYTES, SENT_SEQUENCE, SENT_REBUILT = range(6)
SENT_COLUMNS = 6

NOT_HERE = -1

Thing = TypeVar("Thing", bound=Hashable)


class Keys(NamedTuple):
    """Topics of one side: `blob[starts[t] : starts[t + 1]]` is how topic `t` is named in requests and answers.

    `slots`: topics by the hash of that. `rows[firsts[t] + partition]`: the row of the lane's table.
    """

    blob: Bytes
    starts: Table
    slots: Table
    firsts: Table
    rows: Table


def make_keys(topics: Sequence[TopicKey], places: Sequence[tuple[int, int]]) -> Keys:
    """`places`: of each row of the table, its topic's number and its partition."""
    names = [encode_string(topic) if isinstance(topic, str) else topic for topic in topics]
    starts = np.cumsum([0, *map(len, names)], dtype=np.int64)
    widths = [0] * len(names)
    for topic, partition in places:
        widths[topic] = max(widths[topic], 1 + partition)
    firsts = np.cumsum([0, *widths], dtype=np.int64)
    rows = np.full(firsts[-1], NOT_HERE, np.int64)
    for row, (topic, partition) in enumerate(places):
        rows[firsts[topic] + partition] = row
    keys = Keys(np.frombuffer(b"".join(names), np.uint8), starts, _empty_slots(len(names)), firsts, rows)
    _fill_slots(keys.blob, keys.starts, keys.slots)
    return keys


def number(things: Sequence[Thing]) -> dict[Thing, int]:
    """Each different one by the order in which they come."""
    return {thing: index for index, thing in enumerate(dict.fromkeys(things))}


def _empty_slots(count: int) -> Table:
    return np.full(1 << (2 * count + 1).bit_length(), NOT_HERE, np.int64)


@kernel
def _slot_of(data: Bytes, at: int, size: int, slots: Table) -> int:
    value = np.uint64(14695981039346656037)  # FNV-1a
    for i in range(size):
        value = (value ^ np.uint64(data[at + i])) * np.uint64(1099511628211)
    return int(np.int64(value ^ (value >> np.uint64(32)))) & (len(slots) - 1)


@kernel
def _fill_slots(blob: Bytes, starts: Table, slots: Table) -> None:
    for topic in range(len(starts) - 1):
        slot = _slot_of(blob, starts[topic], starts[topic + 1] - starts[topic], slots)
        while slots[slot] != NOT_HERE:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = topic


@kernel
def find_topic(data: Bytes, at: int, size: int, keys: Keys) -> int:
    """The number of the topic that is named by these bytes, which must be there."""
    slot = _slot_of(data, at, size, keys.slots)
    while keys.slots[slot] != NOT_HERE:
        topic = keys.slots[slot]
        begin = keys.starts[topic]
        if keys.starts[topic + 1] - begin == size and same_bytes(data, at, keys.blob, begin, size):
            return int(topic)
        slot = (slot + 1) & (len(keys.slots) - 1)
    return NOT_HERE


@kernel
def find_row(topic: int, partition: int, keys: Keys) -> int:
    if partition < 0 or partition >= keys.firsts[topic + 1] - keys.firsts[topic]:
        return NOT_HERE
    return int(keys.rows[keys.firsts[topic] + partition])
