"""Where one of several origins of a target partition goes on: ours are told by the producer id, and counted."""

from __future__ import annotations

from sparkmirror.copy import facts
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.tail_check import TailCheck
from sparkmirror.topology.standing import OTHERS, Standing

MERGED = "several partitions are written into one of the target"


class SharedPartition:
    def __init__(self, sides: Sides, first: FirstPlace, tail: TailCheck) -> None:
        self._sides = sides
        self._first = first
        self._tail = tail

    def decide(self, place: Place, ends: Ends) -> Position | None:
        self._sides.require_equal_or_auto(MERGED)
        hint = place.hint
        if place.is_new_source:
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.source_recreated(place.source.name))
        elif place.is_new_target:
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.target_recreated(place.target.name))
        if hint is None or hint.target_end < 0 or place.is_new_source or place.is_new_target:
            return self._begin(place, ends)
        if ends.state and ends.state.last_sequence == hint.last_sequence:
            return Position.of(hint)
        return self._count(place, hint, ends)

    def _begin(self, place: Place, ends: Ends) -> Position | None:
        hint, bounds, log_start = place.hint, self._sides.source_bounds(place), self._sides.target_start(place)
        if bounds is None or log_start is None:
            return None
        if hint is None and ends.state:  # the progress topic was lost: all of ours is counted, from both beginnings
            began = Standing(bounds[0], target_end=log_start, translated=MERGED)
            return self._count(place, began, ends, is_news=True)
        bounds = self._first.bounds(place)
        if bounds is None:
            return None
        is_told = hint is not None and hint.target_end < 0
        return Position(
            next_offset=hint.next_offset if hint and is_told else bounds[0],
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(),
            translated=MERGED,
            equal_end=OTHERS if is_told else 0,
            is_news=True,
        )

    def _count(self, place: Place, hint: Standing, ends: Ends, *, is_news: bool = False) -> Position | None:
        """The leader's memory says when all of ours is counted; without it, all must be readable that is there."""
        readable = self._sides.high_watermark(place)
        if readable is None or (ends.state is None and (readable < ends.log_end or not self._sides.unguarded_ok())):
            return None
        return self._tail.count_on(place, hint, Ends(ends.state, readable), is_news=is_news)
