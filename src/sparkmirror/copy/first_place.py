"""Where a partition begins of which nothing is known to be in the target yet."""

from __future__ import annotations

from sparkmirror.copy import evidence, facts
from sparkmirror.copy.lease import NEVER, NOTHING, NOWHERE, OLDEST
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.sides import NotYetError, Sides
from sparkmirror.topology.standing import OTHERS


class FirstPlace:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def find(self, place: Place, target_next: int) -> Position:
        """`target_next` above 0: others have written there.

        What they wrote last may be what the source begins with: a MirrorMaker 2 that left no progress.
        """
        start, end = self.bounds(place)
        if place.hint and place.hint.target_end <= 0 and not place.is_new_source:
            start = max(start, place.hint.next_offset)  # a MirrorMaker 2, an operator or an earlier lease said so
        why = self._why_translated(place, start, end)
        begins_here = True
        if target_next:
            log_start = self._sides.target_start(place)
            skipped = evidence.skip_written(
                self._sides.source, self._sides.target, place, start, log_start, target_next
            )
            begins_here, start = skipped == start, skipped
            if start != target_next:
                why = why or f"the target topic held other records up to offset {target_next - 1} before"
                self._sides.require_equal_or_auto(why)
        if why or target_next:
            equal_end = 0 if begins_here and not (place.hint and place.hint.target_end < 0) else OTHERS
            return Position(
                next_offset=start,
                target_next=target_next,
                last_sequence=-1,
                translated=why,
                equal_end=equal_end if why else 0,
                is_news=True,
            )
        is_chosen = self._sides.rules.begin != OLDEST and place.hint is None  # at another time it would be another one
        is_news = start > 0 or is_chosen
        return Position(next_offset=start, target_next=0, last_sequence=-1, log_start=start, is_news=is_news)

    def bounds(self, place: Place) -> tuple[int, int]:
        """Where a partition begins of which nothing is known, and the source's end."""
        bounds, begin = self._sides.source_bounds(place), self._sides.rules.begin
        if begin == OLDEST or place.hint is not None:
            return bounds
        if begin == NOWHERE:
            raise facts.not_told_where(begin)
        start = self._sides.source.offset_since(place.source, place.partition, 0.0 if isinstance(begin, str) else begin)
        if start is None:
            raise NotYetError("the source's leader does not say where records of that time begin")
        return max(start, bounds[0]), bounds[1]

    def _why_translated(self, place: Place, start: int, end: int) -> str:
        """Why equal offsets can't or shall not be kept from the beginning; empty if they can."""
        rules = self._sides.rules
        if rules.preserve == NEVER:
            return "offsets.preserve is never"
        why = place.unequal
        if not why and (end - start > rules.max_hole or rules.fill_with == NOTHING):
            holes = self._sides.source.estimate_holes(place.source, place.partition, start, end)
            if holes > rules.max_hole:
                why = f"about {holes} of the source's offsets are holes, more than offsets.preserve.max.hole"
            elif holes and rules.fill_with == NOTHING:
                why = "the target permits neither markers nor transactions, so holes can't be filled"
        if why:
            self._sides.require_equal_or_auto(why)
        return why
