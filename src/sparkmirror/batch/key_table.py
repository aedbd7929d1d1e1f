"""The latest record of each key of two logs, in a table of bounded size: for topics that each side compacts by itself.

    row   hash of the key | source: offset, digest, state | target: offset, digest, state

Keys are known by 128 bits of a hash with a secret seed. A table holds the keys of one class (hash modulo the classes);
one that becomes too full says so, and its reader begins anew with more classes, one after the other.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.compare import (
    AFTER,
    BAD,
    CONTENT,
    LOOK_COLUMNS,
    OFFSET,
    POSITION,
    RECORD,
    TIMESTAMP,
    Numbers,
    look,
)
from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.batch.rewrite import Table
from sparkmirror.batch.varint import FAILED, read_size

# Columns; those of the target follow `SIDE_COLUMNS` behind the source's.
HASH, HASH_LOW, AT, DIGEST, DIGEST_LOW, STATE = range(6)
SIDE_COLUMNS = 4
COLUMNS = 2 + 2 * SIDE_COLUMNS
# States. BEYOND is added where the key has a record behind the end of what is compared.
NONE, VALUE, TOMBSTONE, BEYOND = 0, 1, 2, 4

TAKEN, FULL, DAMAGED = range(3)
FILL = 0.7

_ANY_OFFSET = 1 << 62
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_OTHER_PRIME = np.uint64(0xC2B2AE3D27D4EB4F)


def make_table(slots: int) -> Table:
    """`slots`: a power of two."""
    table = np.zeros((slots, COLUMNS), np.int64)
    table[:, AT] = table[:, AT + SIDE_COLUMNS] = -1
    return table


@kernel
def note_latest(
    data: Bytes,
    sections: Table,
    at: Numbers,
    first: int,
    end: int,
    is_target: bool,
    with_time: bool,
    seed: int,
    key_class: int,
    classes: int,
    table: Table,
    keys: int,
) -> tuple[int, int, int]:
    """Enter all records from `first` on: TAKEN, FULL or DAMAGED, the keys that the table has then, records seen."""
    found = np.empty(LOOK_COLUMNS, np.int64)
    side = SIDE_COLUMNS if is_target else 0
    seen = 0
    while True:
        answer = look(data, sections, at, first, _ANY_OFFSET, found)
        if answer != RECORD:
            return (DAMAGED if answer == BAD else TAKEN), keys, seen
        at[POSITION] = found[AFTER]
        seen += 1
        size, key_at = read_size(data, found[CONTENT], found[AFTER])
        if key_at == FAILED:
            return DAMAGED, keys, seen
        if size < 0:
            continue  # the cleaner removes records without a key
        high, low = _hash(data, key_at, key_at + size, seed)
        if np.uint64(high) % np.uint64(classes) != np.uint64(key_class):
            continue
        slot = _find(table, high, low)
        if table[slot, HASH] == 0 and table[slot, HASH_LOW] == 0:
            if keys >= FILL * len(table):
                return FULL, keys, seen
            table[slot, HASH], table[slot, HASH_LOW] = high, low
            keys += 1
        row = table[slot]
        if found[OFFSET] >= end:
            row[STATE + side] |= BEYOND
            continue
        value, _ = read_size(data, key_at + size, found[AFTER])
        high, low = _hash(data, key_at + size, found[AFTER], seed ^ (found[TIMESTAMP] if with_time else 0))
        row[AT + side], row[DIGEST + side], row[DIGEST_LOW + side] = found[OFFSET], high, low
        row[STATE + side] = (row[STATE + side] & BEYOND) | (TOMBSTONE if value < 0 else VALUE)


@kernel
def _find(table: Table, high: int, low: int) -> int:
    """The slot of a key, or where it would be."""
    mask = len(table) - 1
    slot = low & mask
    while not (table[slot, HASH] == high and table[slot, HASH_LOW] == low):
        if table[slot, HASH] == 0 and table[slot, HASH_LOW] == 0:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def _hash(data: Bytes, at: int, end: int, seed: int) -> tuple[int, int]:
    """128 bits; never both halves 0."""
    a = np.uint64(seed) ^ _PRIME
    b = np.uint64(seed) + _OTHER_PRIME
    size = np.uint64(end - at)
    while at < end:
        word = np.uint64(0)
        for i in range(min(8, end - at)):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
        a = (a ^ word) * _PRIME
        a ^= a >> np.uint64(29)
        b = (b + word) * _OTHER_PRIME
        b ^= b >> np.uint64(31)
        at += 8
    a = (a ^ size ^ (b >> np.uint64(33))) * _OTHER_PRIME
    a ^= a >> np.uint64(32)
    b = (b ^ size ^ (a >> np.uint64(29))) * _PRIME
    b ^= b >> np.uint64(28)
    return int(np.int64(a)), int(np.int64(b)) | 1
