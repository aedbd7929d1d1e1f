"""Reads answers of both sides, in both dialects, as far as they say nothing but the usual. Pure kernels.

Whatever else there is (an error, an aborted transaction, another replica, a tag, a partition that was not asked for, or
bytes that make no sense) is `UNUSUAL`, and nothing was changed: `protocol` reads the answer then.

    fetch     throttle ms, error, session id | topics: key | partitions: partition, error, high watermark, stable end,
              log start, aborted, replica, records
    produce   topics: key | partitions: partition, error, base offset, append time, log start, faulty, message
              | throttle ms

Flexible ones (v13) have compact counts and an empty list of tags behind each struct; others (v11, v8) count in int32.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.batch.scan import big_endian
from sparkmirror.copy.lane.table import (
    BYTES,
    HELD,
    IN_FLIGHT,
    IS_DIRTY,
    KNOWN_UNTIL,
    LAST_SEQUENCE,
    NOT_HERE,
    REBUILT,
    RECORDS,
    RUN_SOURCE,
    RUN_TARGET,
    SENT_BYTES,
    SENT_END,
    SENT_FIRST,
    SENT_REBUILT,
    SENT_ROW,
    SENT_SEQUENCE,
    SOURCE,
    SOURCE_NEXT,
    TARGET_NEXT,
    Keys,
    Table,
    find_row,
    find_topic,
)
from sparkmirror.copy.queue import SEQUENCE_MASK

OK, UNUSUAL = 0, -1

# Columns of what a fetch found, a row for each of the lane's: where its records are, and the high watermark.
FOUND_FROM, FOUND_TO, FOUND_HIGH = range(3)
FOUND_COLUMNS = 3

_UUID_BYTES = 16
_PARTITION_HEAD = 30  # partition, error, high watermark, stable end, log start
_APPENDED = 30  # partition, error, base offset, append time, log start


@kernel
def _read_count(data: Bytes, at: int, flexible: bool) -> tuple[int, int]:
    """A count (null counts as none) and where it ends; `UNUSUAL` if it can't be."""
    if not flexible:
        if at + 4 > len(data):
            return UNUSUAL, at
        return max(0, big_endian(data, at, 4)), at + 4
    value = shift = 0
    while shift < 35:
        if at >= len(data):
            return UNUSUAL, at
        byte = int(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return max(0, value - 1), at
        shift += 7
    return UNUSUAL, at


@kernel
def _key_bytes(data: Bytes, at: int, flexible: bool) -> int:
    """How many bytes name a topic, with the length in front of a name."""
    if flexible:
        return _UUID_BYTES
    return 2 + big_endian(data, at, 2) if at + 2 <= len(data) else UNUSUAL


@kernel
def _read_topic(data: Bytes, at: int, flexible: bool, keys: Keys) -> tuple[int, int, int]:
    """Its number, how many partitions follow, and where; `UNUSUAL` if it is none of ours, or makes no sense."""
    width = _key_bytes(data, at, flexible)
    if width < 2 or at + width > len(data):
        return UNUSUAL, 0, at
    topic = find_topic(data, at, width, keys)
    partitions, at = _read_count(data, at + width, flexible)
    if topic == NOT_HERE or partitions < 0:
        return UNUSUAL, 0, at
    return topic, partitions, at


@kernel
def read_fetch(data: Bytes, flexible: bool, source: int, session: int, keys: Keys, table: Table, found: Table) -> int:
    """Where the records of each row are. All answered partitions are that source's, each once."""
    size = len(data)
    if size < 10 or big_endian(data, 0, 4) > 0 or big_endian(data, 4, 2) != 0 or big_endian(data, 6, 4) != session:
        return UNUSUAL
    topics, at = _read_count(data, 10, flexible)
    seen = np.zeros(len(found), np.bool_)
    found[:] = 0
    for _ in range(topics):
        topic, partitions, at = _read_topic(data, at, flexible, keys)
        if topic == UNUSUAL:
            return UNUSUAL
        for _ in range(partitions):
            if at + _PARTITION_HEAD > size or big_endian(data, at + 4, 2) != 0:
                return UNUSUAL
            row, high = find_row(topic, big_endian(data, at, 4), keys), big_endian(data, at + 6, 8)
            aborted, at = _read_count(data, at + _PARTITION_HEAD, flexible)
            if (
                row == NOT_HERE
                or table[row, SOURCE] != source
                or aborted != 0
                or at + 4 > size
                or big_endian(data, at, 4) != -1
            ):
                return UNUSUAL
            records, at = _read_count(data, at + 4, flexible)
            if records < 0 or at + records + flexible > size:
                return UNUSUAL
            if seen[row]:
                return UNUSUAL
            seen[row] = True
            found[row, FOUND_FROM], found[row, FOUND_TO], found[row, FOUND_HIGH] = at, at + records, high
            at += records
            if flexible:
                if data[at] != 0:
                    return UNUSUAL
                at += 1
        if flexible:
            if at >= size or data[at] != 0:
                return UNUSUAL
            at += 1
    if topics < 0 or at + flexible != size or (flexible and data[at] != 0):
        return UNUSUAL
    return OK


@kernel
def acknowledge(data: Bytes, flexible: bool, keys: Keys, sent: Table, table: Table, known_until: int) -> int:
    """Take the answer to what was `sent`: each batch stands where it is expected to. The number of them."""
    marks = _mark(sent, table)
    if _check_produce(data, flexible, keys, sent, table, marks) != len(sent):
        return UNUSUAL
    for i in range(len(sent)):
        batch, row = sent[i], table[sent[i, SENT_ROW]]
        records = batch[SENT_END] - batch[SENT_FIRST]
        if not row[IS_DIRTY]:
            row[RUN_SOURCE], row[RUN_TARGET] = batch[SENT_FIRST], row[TARGET_NEXT]
            row[RECORDS] = row[REBUILT] = row[BYTES] = 0
            row[IS_DIRTY] = 1
        row[RECORDS] += records
        row[REBUILT] += records * batch[SENT_REBUILT]
        row[BYTES] += batch[SENT_BYTES]
        row[SOURCE_NEXT] = batch[SENT_END]
        row[TARGET_NEXT] += records
        row[LAST_SEQUENCE] = (batch[SENT_SEQUENCE] + records - 1) & SEQUENCE_MASK
        row[KNOWN_UNTIL] = known_until
        row[IN_FLIGHT] -= 1
        row[HELD] -= records
    return len(sent)


@kernel
def _mark(sent: Table, table: Table) -> Table:
    """Of each row of the table, which batch of `sent` is its; a request has one of each."""
    marks = np.full(len(table), NOT_HERE, np.int64)
    for i in range(len(sent)):
        marks[sent[i, SENT_ROW]] = i
    return marks


@kernel
def _check_produce(data: Bytes, flexible: bool, keys: Keys, sent: Table, table: Table, marks: Table) -> int:
    """How many batches were appended where they belong; `UNUSUAL` if there is more to say. `marks` are spent."""
    size = len(data)
    topics, at = _read_count(data, 0, flexible)
    used = 0
    for _ in range(topics):
        topic, partitions, at = _read_topic(data, at, flexible, keys)
        if topic == UNUSUAL:
            return UNUSUAL
        for _ in range(partitions):
            if at + _APPENDED > size or big_endian(data, at + 4, 2) != 0:
                return UNUSUAL
            row = find_row(topic, big_endian(data, at, 4), keys)
            if row == NOT_HERE or marks[row] < 0:
                return UNUSUAL
            if table[row, SOURCE_NEXT] > sent[marks[row], SENT_FIRST] or table[row, TARGET_NEXT] != big_endian(
                data, at + 6, 8
            ):
                return UNUSUAL
            marks[row] = NOT_HERE
            used += 1
            faulty, at = _read_count(data, at + _APPENDED, flexible)
            if faulty != 0 or at + 2 > size:
                return UNUSUAL
            if flexible:  # no message, no tags
                if data[at] != 0 or data[at + 1] != 0:
                    return UNUSUAL
            elif big_endian(data, at, 2) != -1:
                return UNUSUAL
            at += 2
        if flexible:
            if at >= size or data[at] != 0:
                return UNUSUAL
            at += 1
    if topics < 0 or at + 4 + flexible != size or big_endian(data, at, 4) > 0 or (flexible and data[at + 4] != 0):
        return UNUSUAL
    return used
