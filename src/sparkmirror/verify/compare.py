"""Compares two sides record by record, as fast as their bytes allow: stretches in, differences out."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkmirror.batch import compare as kernels
from sparkmirror.batch.rewrite import COUNT
from sparkmirror.errors import ProtocolError
from sparkmirror.verify.align import WINDOW, align
from sparkmirror.verify.difference import Difference
from sparkmirror.verify.places import Places
from sparkmirror.verify.side import Side
from sparkmirror.verify.stretch import Stretch

MOST_DIFFERENCES = 1000
WINDOW_BYTES = 8 << 20


@dataclass(slots=True)
class Comparison:
    """`records`: of the source, those that are equal. `others`: of the target, those that are not the mirror's.

    `is_cut`: there were too many differences, and what is behind the last was not compared.
    """

    records: int = 0
    others: int = 0
    found: list[Difference] = field(default_factory=list)
    is_cut: bool = False


def compare(source: Side, target: Side, places: Places, most: int = MOST_DIFFERENCES) -> Comparison:
    result = Comparison()
    shift = 0
    while True:
        here, there = source.current(), target.current()
        if here is None and there is None:
            return result
        if here is not None and there is not None:
            if _same_packed(source, here, target, there, shift):
                result.records += int(here.sections[0, COUNT])
                source.drop()
                target.drop()
                continue
            why = _walk(source, here.unpack(), target, there.unpack(), shift, result)
            if why == kernels.SOURCE_DONE:
                source.drop()
                continue
            if why == kernels.TARGET_DONE:
                target.drop()
                continue
            if why == kernels.SHIFTED and (known := _known_shift(source, target, places)) is not None:
                shift = known
                continue
        shift = _explain(source, target, places, shift, result)
        if len(result.found) >= most:
            result.is_cut = source.current() is not None or target.current() is not None
            return result


def _same_packed(source: Side, here: Stretch, target: Side, there: Stretch, shift: int) -> bool:
    """Whether two compressed batches are the same, told without unpacking them."""
    if not here.codec or here.codec != there.codec or not here.is_fresh or not there.is_fresh:
        return False
    if here.first < source.first or here.end > source.end or there.first < target.first or there.end > target.end:
        return False
    return kernels.same_section(here.data, here.sections[0], there.data, there.sections[0], shift)


def _walk(source: Side, here: Stretch, target: Side, there: Stretch, shift: int, result: Comparison) -> int:
    why, equal = kernels.walk(
        here.data,
        here.sections,
        here.at,
        there.data,
        there.sections,
        there.at,
        shift,
        source.first,
        source.end,
        target.first,
        target.end,
    )
    result.records += equal
    if why in (kernels.SOURCE_BAD, kernels.TARGET_BAD):
        side, bad = ("source", here) if why == kernels.SOURCE_BAD else ("target", there)
        raise ProtocolError(
            f"the {side} holds a batch between offsets {bad.first} and {bad.end - 1} that can't be read"
        )
    return why


def _known_shift(source: Side, target: Side, places: Places) -> int | None:
    """Of the next records; None: they do not stand where the mirror puts them."""
    (here,), (there,) = source.peek(1, 0)[:1], target.peek(1, 0)[:1]
    return there.offset - here.offset if places.expected(here.offset) == there.offset else None


def _explain(source: Side, target: Side, places: Places, shift: int, result: Comparison) -> int:
    """Note what differs at this place and go behind it; the shift from there on."""
    if passed := _pass_others(target, places):
        result.others += passed
        return shift
    coming = source.peek(WINDOW, WINDOW_BYTES), target.peek(WINDOW, WINDOW_BYTES)
    if not any(coming):  # what is left holds no record of this range
        source.skip_others(source.end, None)
        target.skip_others(target.end, None)
        return shift
    step = align(*coming, places)
    result.found += step.found
    source.skip(step.source)
    target.skip(step.target)
    return shift if step.shift is None else step.shift


def _pass_others(target: Side, places: Places) -> int:
    """Go behind records of the target that neither the mirror wrote nor its map knows; how many these are."""
    there = next(iter(target.peek(1, 0)), None)
    if there is None or there.producer_id == places.producer_id:
        return 0
    ours = places.next_ours(there.offset)
    return 0 if ours is None else target.skip_others(ours, places.producer_id)
