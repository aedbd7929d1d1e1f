"""Compares compacted logs: each side is cleaned at its own time, so the latest record of each key is what counts.

A tombstone equals nothing at all: either side may have removed it. Where a side has a newer record of a key, behind the
end of what is compared, the other may have had it, too, and have removed the older one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparkmirror.batch import key_table
from sparkmirror.batch.compare import Numbers
from sparkmirror.batch.key_table import AT, BEYOND, DIGEST, DIGEST_LOW, HASH, HASH_LOW, SIDE_COLUMNS, STATE, VALUE
from sparkmirror.batch.rewrite import Table
from sparkmirror.errors import ProtocolError
from sparkmirror.verify.places import Places
from sparkmirror.verify.side import Side

SLOTS = 1 << 20  # 80 MB
MOST_CLASSES = 1 << 16


class LatestDiffers(NamedTuple):
    """A key whose latest records differ; None: that side has none."""

    key: tuple[int, int]
    source: int | None
    target: int | None


class LatestFound(NamedTuple):
    """`keys` that were compared, `records` that were read of the source."""

    keys: int
    records: int
    found: list[LatestDiffers]


class TableFullError(Exception):
    """There are more keys than the table takes."""


def compare_latest(
    open_sides: Callable[[], tuple[Side, Side]],
    places: Places,
    *,
    seed: int,
    with_time: bool = True,
    slots: int = SLOTS,
) -> LatestFound:
    """`open_sides`: both logs from the beginning to their very ends; asked for once for each class of keys.

    `end` of a side is where the comparison ends.
    """
    keys, records, found = 0, 0, list[LatestDiffers]()
    waiting = [(0, 1)]  # classes of keys: those whose hash modulo the second is the first
    while waiting:
        number, classes = waiting.pop()
        try:
            table, some, records = _read(open_sides(), number, classes, seed=seed, with_time=with_time, slots=slots)
        except TableFullError:
            if classes == MOST_CLASSES:
                raise ProtocolError(f"there are more than {slots * classes} keys") from None
            waiting += [(number, 2 * classes), (number + classes, 2 * classes)]
            continue
        keys += some
        found += _differing(table, places)
    return LatestFound(keys, records, found)


def _read(
    sides: tuple[Side, Side], number: int, classes: int, *, seed: int, with_time: bool, slots: int
) -> tuple[Table, int, int]:
    table = key_table.make_table(slots)
    keys, records = 0, [0, 0]
    for is_target, side in enumerate(sides):
        while (stretch := side.current()) is not None:
            stretch.unpack()
            answer, keys, seen = key_table.note_latest(
                stretch.data,
                stretch.sections,
                stretch.at,
                side.first,
                side.end,
                bool(is_target),
                with_time,
                seed,
                number,
                classes,
                table,
                keys,
            )
            if answer == key_table.FULL:
                raise TableFullError
            if answer == key_table.DAMAGED:
                raise ProtocolError(f"a batch between offsets {stretch.first} and {stretch.end - 1} can't be read")
            records[is_target] += seen
            side.drop()
    return table[table[:, STATE] + table[:, STATE + SIDE_COLUMNS] > 0], keys, records[0]


def _differing(table: Table, places: Places) -> list[LatestDiffers]:
    there = SIDE_COLUMNS
    source, target = table[:, STATE] & ~BEYOND == VALUE, table[:, STATE + there] & ~BEYOND == VALUE
    same = (table[:, DIGEST] == table[:, DIGEST + there]) & (table[:, DIGEST_LOW] == table[:, DIGEST_LOW + there])
    expected = table[:, AT] if places.is_equal else _expected(table, places)
    in_place = expected == table[:, AT + there]
    differs = (source | target) & ~(source & target & same & in_place)
    # A newer record, if only a tombstone that is gone again, may have taken the older one away on one side.
    is_superseded = (table[:, STATE] | table[:, STATE + there]) & BEYOND > 0
    rows = table[differs & ~(is_superseded & ~in_place)]
    return [
        LatestDiffers(
            (int(row[HASH]), int(row[HASH_LOW])),
            int(row[AT]) if row[AT] >= 0 else None,
            int(row[AT + there]) if row[AT + there] >= 0 else None,
        )
        for row in rows
    ]


def _expected(table: Table, places: Places) -> Numbers:
    """Where the source's records stand; where that is not known, where the target's do."""

    def one(offset: int, there: int) -> int:
        found = places.expected(offset) if offset >= 0 else offset
        return there if found is None else found

    pairs = zip(table[:, AT].tolist(), table[:, AT + SIDE_COLUMNS].tolist(), strict=True)
    return np.array([one(*pair) for pair in pairs], np.int64)
