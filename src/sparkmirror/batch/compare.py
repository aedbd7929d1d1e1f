"""Compares the records of two logs, however each side has packed them into batches: a kernel that walks both.

    source   | 10 11 12 | 13 14 | 15 |           sections of records (see `batch.rewrite`), uncompressed
    target   | 10 11 12 13 14 15 16 17 |         the same records as another producer packed them

A record is its offset, its timestamp, and its key, value and headers as they are encoded. Two sections with the same
bytes are compared by these alone. `shift` is the target's offset minus the source's.

A walk keeps where it is in an array (`SECTION`, `POSITION`), and stops in front of the first pair that differs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.kernel import Bytes, kernel, same_bytes
from sparkmirror.batch.rewrite import (
    BASE_TIMESTAMP,
    COUNT,
    FIRST,
    FIXED_TIMESTAMP,
    LAST_DELTA,
    NOT_FIXED,
    SECTION_END,
    SECTION_START,
    Table,
)
from sparkmirror.batch.varint import FAILED, read_varint, read_varlong

# Why a walk stopped: a side has no record left here, holds one that can't be read, or the two records differ.
SOURCE_DONE, TARGET_DONE, SOURCE_BAD, TARGET_BAD, SHIFTED, DIFFERENT = range(6)
# What `look` finds.
RECORD, DONE, BAD = range(3)

SECTION, POSITION = range(2)
# What `look` says of a record. IS_FIXED: its timestamp is the broker's.
OFFSET, TIMESTAMP, CONTENT, AFTER, IS_FIXED = range(5)
LOOK_COLUMNS = 5

Numbers = NDArray[np.int64]


@kernel
def look(data: Bytes, sections: Table, at: Numbers, first: int, end: int, found: Numbers) -> int:
    """The next record in `first..end`; `at` comes to stand in front of it. DONE: these sections have none left."""
    number, position = at[SECTION], at[POSITION]
    while number < len(sections):
        stop = sections[number, SECTION_END]
        while position < stop:
            length, body = read_varint(data, position, stop)
            if body == FAILED or length < 1 or length > stop - body:
                return BAD
            after = body + length
            delta_ts, rest = read_varlong(data, body + 1, after)
            if rest == FAILED:
                return BAD
            delta, rest = read_varint(data, rest, after)
            if rest == FAILED or delta < 0 or delta > sections[number, LAST_DELTA]:
                return BAD
            offset = sections[number, FIRST] + delta
            if offset >= end:
                at[SECTION] = len(sections)
                return DONE
            if offset < first:
                position = after
                continue
            fixed = sections[number, FIXED_TIMESTAMP]
            at[SECTION], at[POSITION] = number, position
            found[OFFSET], found[CONTENT], found[AFTER] = offset, rest, after
            found[TIMESTAMP] = sections[number, BASE_TIMESTAMP] + delta_ts if fixed == NOT_FIXED else fixed
            found[IS_FIXED] = fixed != NOT_FIXED
            return RECORD
        number += 1
        if number < len(sections):
            position = sections[number, SECTION_START]
    at[SECTION] = number
    return DONE


@kernel
def walk(
    source: Bytes,
    source_sections: Table,
    source_at: Numbers,
    target: Bytes,
    target_sections: Table,
    target_at: Numbers,
    shift: int,
    first: int,
    end: int,
    target_first: int,
    target_end: int,
) -> tuple[int, int]:
    """Go on while records are equal: why it stopped, and how many were.

    Where the target's broker stamps records with its own time, timestamps can't be equal and are not compared.
    """
    here, there = np.empty(LOOK_COLUMNS, np.int64), np.empty(LOOK_COLUMNS, np.int64)
    equal = 0
    while True:
        i, j = source_at[SECTION], target_at[SECTION]
        is_whole = i < len(source_sections) and j < len(target_sections)
        is_whole = is_whole and source_at[POSITION] == source_sections[i, SECTION_START]
        if is_whole and target_at[POSITION] == target_sections[j, SECTION_START]:
            left, right = source_sections[i], target_sections[j]
            lies_in = _lies_in(left, first, end) and _lies_in(right, target_first, target_end)
            if lies_in and same_section(source, left, target, right, shift):
                equal += left[COUNT]
                _next_section(source_sections, source_at)
                _next_section(target_sections, target_at)
                continue
        found = look(source, source_sections, source_at, first, end, here)
        if found != RECORD:
            return (SOURCE_DONE if found == DONE else SOURCE_BAD), equal
        found = look(target, target_sections, target_at, target_first, target_end, there)
        if found != RECORD:
            return (TARGET_DONE if found == DONE else TARGET_BAD), equal
        if here[OFFSET] + shift != there[OFFSET]:
            return SHIFTED, equal
        size = here[AFTER] - here[CONTENT]
        if size != there[AFTER] - there[CONTENT] or (not there[IS_FIXED] and here[TIMESTAMP] != there[TIMESTAMP]):
            return DIFFERENT, equal
        if not same_bytes(source, here[CONTENT], target, there[CONTENT], size):
            return DIFFERENT, equal
        _pass(source_sections, source_at, here[AFTER])
        _pass(target_sections, target_at, there[AFTER])
        equal += 1


@kernel
def same_section(source: Bytes, left: Numbers, target: Bytes, right: Numbers, shift: int) -> bool:
    """Whether two sections have the same records, told by their bytes, compressed or not. False: they may have."""
    size = left[SECTION_END] - left[SECTION_START]
    if size != right[SECTION_END] - right[SECTION_START] or left[COUNT] != right[COUNT]:
        return False
    if left[FIRST] + shift != right[FIRST] or left[LAST_DELTA] != right[LAST_DELTA]:
        return False
    if left[FIXED_TIMESTAMP] != NOT_FIXED or right[FIXED_TIMESTAMP] != NOT_FIXED:
        return False
    if left[BASE_TIMESTAMP] != right[BASE_TIMESTAMP]:
        return False
    return same_bytes(source, left[SECTION_START], target, right[SECTION_START], size)


@kernel
def _lies_in(section: Numbers, first: int, end: int) -> bool:
    return bool(section[FIRST] >= first and section[FIRST] + section[LAST_DELTA] < end)


@kernel
def _pass(sections: Table, at: Numbers, after: int) -> None:
    """Go behind a record; at the end of a section, to the start of the next, which may be the same as a whole."""
    at[POSITION] = after
    if after == sections[at[SECTION], SECTION_END]:
        _next_section(sections, at)


@kernel
def _next_section(sections: Table, at: Numbers) -> None:
    at[SECTION] += 1
    if at[SECTION] < len(sections):
        at[POSITION] = sections[at[SECTION], SECTION_START]
