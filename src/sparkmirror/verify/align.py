"""Finds where two logs agree again behind a difference, and says what became of each record before that. Pure.

    source   5 6 7 8 9         6 is missing: they agree again at 7
    target   5   7 8 9

Records agree if they are equal and stand where the mirror puts them; or at other offsets, where it takes fewer
differences to say that a record was left out or put in and that all behind it have moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkmirror.verify import difference
from sparkmirror.verify.difference import Difference
from sparkmirror.verify.places import Places
from sparkmirror.verify.side import SeenRecord

WINDOW = 200  # records that are looked at on each side
IN_A_ROW = 3  # as many must be equal where offsets say nothing


class Step(NamedTuple):
    """What differs, and how many records of each side that explains."""

    found: list[Difference]
    source: int
    target: int
    shift: int | None = None  # that records have from here on, where they agree again


def align(source: Sequence[SeenRecord], target: Sequence[SeenRecord], places: Places) -> Step:
    """`source` and `target`: what comes next on each side, fewer than `WINDOW` only at its end; not both are empty."""
    if not source or not target:
        return Step(
            [difference.missing(r) for r in source] + [difference.extra(r) for r in target], len(source), len(target)
        )
    expected = [places.expected(record.offset) for record in source]
    if expected[0] in (None, target[0].offset) and _are_only_swapped(source, target):
        return Step([difference.swapped(source[0], target[0])], 2, 2)
    meetings = [_meet_in_place(source, target, expected), _meet_anywhere(source, target)]
    met = min(
        (met for met in meetings if met is not None), key=lambda met: _cost(met, source, target, expected), default=None
    )
    if met is None:
        found, here, there = _first_of(source, target, expected)
        return Step(found, here, there)
    i, j = met
    found = _explain(source[:i], target[:j], expected)
    shift = target[j].offset - source[i].offset
    if expected[i] != target[j].offset and expected[i] is not None:
        found.append(difference.moved(source[i], target[j], expected[i]))
    return Step(found, i, j, shift)


def _cost(
    met: tuple[int, int], source: Sequence[SeenRecord], target: Sequence[SeenRecord], expected: Sequence[int | None]
) -> tuple[int, bool, bool]:
    """How many differences there are at least if both sides agree again there; by chance a single record may."""
    i, j = met
    has_moved = expected[i] not in (None, target[j].offset)
    goes_on = not _agree(source[i : i + IN_A_ROW], target[j : j + IN_A_ROW])
    return max(met) + has_moved + goes_on, goes_on, has_moved


def _same(source: SeenRecord, target: SeenRecord) -> bool:
    return target.timestamp in (None, source.timestamp) and source.content == target.content


def _are_swapped(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> bool:
    """The first two; a record that equals its neighbour changes nothing by that."""
    are_two = len(source) > 1 and len(target) > 1
    return are_two and _same(source[0], target[1]) and _same(source[1], target[0]) and not _same(source[0], target[0])


def _are_only_swapped(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> bool:
    """Of `X Y X` without the first X is left `Y X`, which looks the same but for what comes behind."""
    behind = slice(2, 2 + IN_A_ROW)
    return _are_swapped(source, target) and _agree(source[behind], target[behind])


def _meet_in_place(
    source: Sequence[SeenRecord], target: Sequence[SeenRecord], expected: Sequence[int | None]
) -> tuple[int, int] | None:
    there = {record.offset: j for j, record in enumerate(target)}
    pairs = ((i, there[e]) for i, e in enumerate(expected) if e is not None and e in there)
    return min((pair for pair in pairs if _same(source[pair[0]], target[pair[1]])), key=sum, default=None)


def _meet_anywhere(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> tuple[int, int] | None:
    there: dict[bytes, list[int]] = {}
    for j, record in enumerate(target):
        there.setdefault(record.content, []).append(j)
    pairs = (
        (i, j)
        for i, record in enumerate(source)
        for j in there.get(record.content, ())
        if _agree(source[i : i + IN_A_ROW], target[j : j + IN_A_ROW])
    )
    return min(pairs, key=lambda pair: (sum(pair), abs(pair[0] - pair[1])), default=None)


def _agree(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> bool:
    """A few in a row; at their ends as many on both sides."""
    return len(source) == len(target) and all(_same(*both) for both in zip(source, target, strict=True))


def _explain(
    source: Sequence[SeenRecord], target: Sequence[SeenRecord], expected: Sequence[int | None]
) -> list[Difference]:
    """All records before the place where both sides agree again."""
    found: list[Difference] = []
    i = j = 0
    while i < len(source) or j < len(target):
        if i == len(source) or j == len(target):
            found += [difference.missing(r) for r in source[i:]] + [difference.extra(r) for r in target[j:]]
            break
        some, here, there = _first_of(source[i:], target[j:], expected[i:])
        found += some
        i, j = i + here, j + there
    return found


def _first_of(
    source: Sequence[SeenRecord], target: Sequence[SeenRecord], expected: Sequence[int | None]
) -> tuple[list[Difference], int, int]:
    """What became of the first record of either side, or of the first two that changed places."""
    if expected[0] is not None and expected[0] < target[0].offset:
        return [difference.missing(source[0])], 1, 0
    if expected[0] is not None and expected[0] > target[0].offset:
        return [difference.extra(target[0])], 0, 1
    if _are_swapped(source, target):
        return [difference.swapped(source[0], target[0])], 2, 2
    return [difference.changed(source[0], target[0])], 1, 1
