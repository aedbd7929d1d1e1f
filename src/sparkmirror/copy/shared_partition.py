"""Where one of several origins of a target partition goes on: ours are told by the producer id, and counted."""

from __future__ import annotations

from sparkmirror.copy import facts
from sparkmirror.copy.count_on import CountOn, target_next
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.sides import Sides, behind
from sparkmirror.topology.standing import OTHERS, Standing

MERGED = "several partitions are written into one of the target"


class SharedPartition:
    def __init__(self, sides: Sides, first: FirstPlace, counting: CountOn) -> None:
        self._sides = sides
        self._first = first
        self._counting = counting

    def decide(self, place: Place, ends: Ends) -> Position:
        self._sides.require_equal_or_auto(MERGED)
        hint = place.hint
        if place.is_new_source:
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.source_recreated(place.source.name))
        elif place.is_new_target:
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.target_recreated(place.target.name))
        if hint is None or hint.target_end < 0 or place.is_new_source or place.is_new_target:
            return self._begin(place, ends)
        if ends.log_end == 0 < hint.target_end and ends.state is None:
            wiped = facts.target_wiped(place.target.name, hint.target_end)
            self._sides.tolerate(place, self._sides.rules.on_divergence, wiped)
            return self._begin(place, ends)
        if _is_as_known(hint, ends):
            return Position.of(hint)
        self._require_countable(place, ends)
        return self._counting.decide(place, hint, ends)

    def end_of_ours(self, place: Place, hint: Standing, ends: Ends) -> tuple[int, int] | None:
        """Where our last batch ends, and its last sequence; None: the target holds less of ours than was known."""
        if _is_as_known(hint, ends):
            return hint.target_end, hint.last_sequence
        self._require_countable(place, ends)
        tally = self._counting.tally(place, hint, ends)
        known = hint.last_sequence if tally.last_sequence is None else tally.last_sequence
        return (target_next(place, hint, tally), ends.last_sequence(known)) if tally.written >= 0 else None

    def _begin(self, place: Place, ends: Ends) -> Position:
        hint = place.hint
        if hint is None and self._has_ours(place, ends):  # the progress topic was lost
            self._require_countable(place, ends)
            return self._counting.from_both_beginnings(place, self._sides.source_bounds(place)[0], MERGED, ends)
        start, _ = self._first.bounds(place)
        is_told = hint is not None and hint.target_end < 0
        return Position(
            next_offset=hint.next_offset if hint and is_told else start,
            target_next=self._sides.high_watermark(place),  # what lies behind it may still be taken away
            last_sequence=ends.last_sequence(),
            translated=MERGED,
            equal_end=OTHERS if is_told else 0,
            is_news=True,
        )

    def _has_ours(self, place: Place, ends: Ends) -> bool:
        """A leader forgets a producer whose records are old; then its log says it."""
        if ends.state or place.is_new:
            return ends.state is not None
        self._require_countable(place, ends)
        log_start = self._sides.target_start(place)
        return self._sides.read_tail(place, log_start, ends.log_end, self._sides.id_of(place)) is not None

    def _require_countable(self, place: Place, ends: Ends) -> None:
        """The leader's memory says when all of ours is counted; without it, all must be readable that is there."""
        self._sides.require_guarded(ends)
        readable = self._sides.high_watermark(place)
        if ends.state is None and readable < ends.log_end:
            raise behind(readable, ends.log_end)


def _is_as_known(hint: Standing, ends: Ends) -> bool:
    """The leader says that nothing of ours was written or lost since."""
    return ends.state is not None and ends.last_sequence() == hint.last_sequence and hint.target_end <= ends.log_end
