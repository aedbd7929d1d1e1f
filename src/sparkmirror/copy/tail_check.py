"""Where to go on, told by the last records of a target's log, and what the source holds at their place."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.batch.header import BatchHeader
from sparkmirror.copy import evidence, facts
from sparkmirror.copy.count_on import CountOn
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.lease import NEVER
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.tail import Batch, Tail, data_batches
from sparkmirror.errors import MirrorError
from sparkmirror.topology.standing import OTHERS, Standing


class TailCheck:
    """For where nobody else writes and offsets were equal so far."""

    def __init__(self, sides: Sides, first: FirstPlace, counting: CountOn) -> None:
        self._sides = sides
        self._first = first
        self._counting = counting

    def decide(self, place: Place, ends: Ends, *, must_see: bool = False) -> Position:
        """From the target's last batch. `must_see`: both logs must hold a record of ours at the same place."""
        hint = place.hint
        log_start = self._sides.target_start(place)
        if hint and hint.target_end < 0:
            return self._after_predecessor(place, hint, ends, log_start)
        if ends.log_end == 0 and ends.last_sequence() >= 0:
            self._sides.refute(place, ends, "the target's leader remembers our producer and says that its log is empty")
        if hint and ends.log_end < hint.target_end:
            lost = facts.target_truncated(place.target.name, ends.log_end, hint.target_end)
            self._sides.tolerate(place, self._sides.rules.on_divergence, lost)
        wanted = hint.log_start if hint else 0
        if ends.log_end <= wanted:
            return Position(
                next_offset=wanted, target_next=ends.log_end, last_sequence=ends.last_sequence(), log_start=wanted
            )
        tail = self._sides.read_tail(place, log_start, ends.log_end)
        if tail is None or (tail.data is None and hint is None):  # nothing says that offsets are equal
            return self._without_tail(place, ends, log_start)
        if tail.last.producer_id != self._sides.producer_id:
            return self._after_foreign(place, ends, tail)
        if ends.last_sequence() not in (-1, tail.last.last_sequence):
            self._sides.refute(
                place,
                ends,
                f"the target's leader remembers sequence {ends.last_sequence()} of our producer where its log ends in "
                f"{tail.last.last_sequence}",
            )
        try:
            return self._behind(place, ends, tail, wanted, must_see=must_see)
        except MirrorError as fact:
            if fact.name not in facts.MISPLACED or not self._has_foreign(place, ends):
                raise
        return self._after_foreign(place, ends, tail)

    def _has_foreign(self, place: Place, ends: Ends) -> bool:
        """Whether others wrote since progress: then ours behind them do not stand where the source has them."""
        hint = place.hint
        if hint is None:
            return False
        batches = data_batches(self._sides.target, place.target, place.target_partition, hint.target_end, ends.log_end)
        return any(batch.header.producer_id != self._sides.producer_id for batch in batches)

    def _behind(self, place: Place, ends: Ends, tail: Tail, log_start: int, *, must_see: bool) -> Position:
        """What we wrote up to the end of the last batch is there; behind it only markers may stand."""
        tail_epoch = -1
        if tail.data and tail.data.header.producer_id == self._sides.producer_id:
            compared = evidence.compare(self._sides.source, place, tail.data)
            tail_epoch = compared.source_epoch
            _, source_end = self._sides.source_bounds(place)
            if tail.data.header.end > source_end:
                return self._after_cut(place, ends, tail, source_end, log_start)
            if compared.seen < 0:
                self._look_back(place, tail.data, must_see=must_see)
        next_offset = evidence.first_record(self._sides.source, place, tail.last.end, ends.log_end)
        why = ""
        if next_offset is not None:
            why = f"markers stand at target offsets where the source has records, from {next_offset} on"
            self._sides.require_equal_or_auto(why)
        is_at_end = tail.data is not None and tail.data.header.end == ends.log_end
        return Position(
            next_offset=ends.log_end if next_offset is None else next_offset,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(tail.last.last_sequence),
            source_epoch=tail_epoch if is_at_end else -1,
            log_start=log_start,
            translated=why,
            equal_end=next_offset or 0,
            is_news=bool(why),
        )

    def _look_back(self, place: Place, tail: Batch, *, must_see: bool) -> None:
        """The source holds nothing where the last batch stands. Up to where progress came offsets were equal."""
        first, end = self._sides.target_start(place), tail.header.end
        if place.hint:
            first = max(first, place.hint.target_end)
        if first >= end:
            return
        ours = self._sides.id_of(place)
        is_seen = evidence.require_equal(self._sides.source, self._sides.target, ours, place, first, end)
        if must_see and not is_seen:
            raise facts.diverged(place.source.name, tail.header.first, end)

    def _after_cut(self, place: Place, ends: Ends, tail: Tail, source_end: int, log_start: int) -> Position:
        """The source has lost the end of what was copied; without progress nothing says that it was ours."""
        cut = facts.source_truncated(place.source.name, ends.log_end, source_end)
        if place.hint is None:
            raise cut
        self._sides.tolerate(place, self._sides.rules.on_divergence, cut)
        why = f"the source was truncated to offset {source_end}"
        self._sides.require_equal_or_auto(why)
        return Position(
            next_offset=source_end,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(tail.last.last_sequence),
            log_start=log_start,
            translated=why,
            equal_end=source_end,
            is_news=True,
        )

    def find_ours(self, place: Place, ends: Ends) -> list[tuple[int, int]]:
        """Where our records stand, first and end each; a leader that does not know our producer has none."""
        found: list[tuple[int, int]] = []
        for header in self._headers(place, ends) if ends.state else ():
            if header.producer_id == self._sides.id_of(place):
                first = found.pop()[0] if found and found[-1][1] == header.first else header.first
                found.append((first, header.end))
        return found

    def decide_anew(self, place: Place, ends: Ends) -> Position:
        """In a topic that was made anew. Brokers that know topics by name have put into it what was under way to the
        one before: if nothing else is there it is removed, and the mirror begins behind it."""
        try:
            return self.decide(place, ends, must_see=True)
        except MirrorError as fact:
            if fact.name not in facts.MISPLACED:
                raise
            if any(header.producer_id != self._sides.id_of(place) for header in self._headers(place, ends)):
                raise
        self._sides.require_all_readable(place, ends.log_end)
        start, _ = self._sides.source_bounds(place)
        why = f"the target topic was created anew while records were under way to it, up to its offset {ends.log_end}"
        self._sides.require_equal_or_auto(why)
        return Position(
            next_offset=start,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(),
            log_start=ends.log_end,
            translated=why,
            is_news=True,
        )

    def _headers(self, place: Place, ends: Ends) -> Iterator[BatchHeader]:
        first = self._sides.target_start(place)
        batches = data_batches(self._sides.target, place.target, place.target_partition, first, ends.log_end)
        return (batch.header for batch in batches)

    def _without_tail(self, place: Place, ends: Ends, log_start: int) -> Position:
        """The target kept no record. Then the progress record must say the same as its log end.

        A log that begins at 0 and holds only markers is one whose source begins with a hole. One that was cut back is
        what it was, up to there.
        """
        hint, state = place.hint, ends.state
        if hint and ends.log_end < hint.target_end:
            return Position(
                next_offset=ends.log_end,
                target_next=ends.log_end,
                last_sequence=ends.last_sequence(),
                log_start=hint.log_start,
            )
        if log_start == 0 and evidence.first_record(self._sides.source, place, 0, ends.log_end) is None:
            return Position(next_offset=ends.log_end, target_next=ends.log_end, last_sequence=ends.last_sequence())
        agrees = hint and hint.target_end == ends.log_end
        if not hint or not agrees or (state and state.last_sequence not in (-1, hint.last_sequence)):
            raise facts.position_unknown(
                f"the target's log holds no record but ends at offset {ends.log_end}, and no progress record says "
                "that this is where the mirror stood"
            )
        return Position.of(hint)

    def _after_foreign(self, place: Place, ends: Ends, tail: Tail) -> Position:
        """Somebody else wrote last: before us, as a MirrorMaker 2 that we follow, or into a mirrored topic."""
        hint = place.hint
        if hint is None:
            if ends.last_sequence() >= 0:
                raise facts.foreign_writer(place.target.name, tail.last.first, ends.log_end, is_sure=False)
            return self._first.find(place, ends.log_end)
        self._sides.tolerate(
            place,
            self._sides.rules.on_divergence,
            facts.foreign_writer(place.target.name, hint.target_end, ends.log_end),
        )
        why = f"{facts.OTHERS_WROTE} from offset {hint.target_end} on"
        self._sides.require_equal_or_auto(why)
        known = hint._replace(translated=why, equal_end=hint.target_end)
        return self._counting.decide(place, known, ends, is_news=True)

    def _after_predecessor(self, place: Place, hint: Standing, ends: Ends, log_start: int) -> Position:
        """A MirrorMaker 2 or an operator said which record comes next, and nothing of the target's offsets.

        A MirrorMaker 2 that was killed has copied more than it said; an operator means what he says.
        """
        next_offset = hint.next_offset
        if not hint.is_set:
            next_offset = evidence.skip_written(
                self._sides.source, self._sides.target, place, next_offset, log_start, ends.log_end
            )
        why = ""
        if self._sides.rules.preserve == NEVER:
            why = "offsets.preserve is never"
        elif next_offset != ends.log_end:
            why = f"it was taken over at source offset {next_offset} where the target's log ends at {ends.log_end}"
            self._sides.require_equal_or_auto(why)
        return Position(
            next_offset=next_offset,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(),
            translated=why,
            equal_end=OTHERS if why else 0,
            is_news=True,
        )
