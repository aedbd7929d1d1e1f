"""Where to go on, told by the last records of a target's log, and what the source holds at their place."""

from __future__ import annotations

from sparkmirror.copy import evidence, facts
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.lease import NEVER
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.tail import Batch, data_batches, read_tail
from sparkmirror.topology.run import pair_up
from sparkmirror.topology.standing import OTHERS, Standing


class TailCheck:
    """For where nobody else writes: `decide`. For translated offsets: `count_on`."""

    def __init__(self, sides: Sides, first: FirstPlace) -> None:
        self._sides = sides
        self._first = first

    def decide(self, place: Place, ends: Ends) -> Position | None:
        """From the target's last batch with records, where offsets were equal so far."""
        hint = place.hint
        log_start = self._sides.target_start(place)
        if log_start is None:
            return None
        if hint and hint.target_end < 0:
            return self._after_predecessor(place, hint, ends, log_start)
        if ends.log_end == 0 and ends.last_sequence() >= 0:
            return None  # the leader remembers what it says that it does not hold
        wanted = hint.log_start if hint else 0
        if ends.log_end <= wanted:
            return Position(
                next_offset=wanted, target_next=ends.log_end, last_sequence=ends.last_sequence(), log_start=wanted
            )
        tail = read_tail(self._sides.target, place.target, place.target_partition, log_start, ends.log_end)
        if tail is None:
            return self._without_tail(place, ends, log_start)
        if tail.header.producer_id != self._sides.producer_id:
            return self._after_foreign(place, ends, tail)
        if ends.state and ends.state.last_sequence >= 0 and tail.header.last_sequence != ends.state.last_sequence:
            return None
        if hint and ends.log_end < hint.target_end:
            lost = facts.target_truncated(place.target.name, ends.log_end, hint.target_end)
            self._sides.tolerate(place, self._sides.rules.on_divergence, lost)
        tail_epoch = evidence.compare(self._sides.source, place, tail)
        next_offset = evidence.first_record(self._sides.source, place, tail.header.end, ends.log_end)
        why = ""
        if next_offset is not None:
            why = f"markers stand at target offsets where the source has records, from {next_offset} on"
            self._sides.require_equal_or_auto(why)
        return Position(
            next_offset=ends.log_end if next_offset is None else next_offset,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(tail.header.last_sequence),
            source_epoch=tail_epoch if tail.header.end == ends.log_end else -1,
            log_start=wanted,
            translated=why,
            equal_end=next_offset or 0,
            is_news=bool(why),
        )

    def _without_tail(self, place: Place, ends: Ends, log_start: int) -> Position:
        """The target kept no record. Then the progress record must say the same as its log end.

        A log that begins at 0 and holds only markers is one whose source begins with a hole.
        """
        hint, state = place.hint, ends.state
        if log_start == 0 and evidence.first_record(self._sides.source, place, 0, ends.log_end) is None:
            return Position(next_offset=ends.log_end, target_next=ends.log_end, last_sequence=ends.last_sequence())
        agrees = hint and hint.target_end == ends.log_end
        if not hint or not agrees or (state and state.last_sequence not in (-1, hint.last_sequence)):
            raise facts.position_unknown(
                f"the target's log holds no record but ends at offset {ends.log_end}, and no progress record says "
                "that this is where the mirror stood"
            )
        return Position.of(hint)

    def _after_foreign(self, place: Place, ends: Ends, tail: Batch) -> Position | None:
        """Somebody else wrote last: before us, as a MirrorMaker 2 that we follow, or into a mirrored topic."""
        hint = place.hint
        if hint is None:
            if ends.last_sequence() >= 0:
                raise facts.foreign_writer(place.target.name, tail.header.first, ends.log_end)
            return self._first.find(place, ends.log_end)
        self._sides.tolerate(
            place,
            self._sides.rules.on_divergence,
            facts.foreign_writer(place.target.name, hint.target_end, ends.log_end),
        )
        why = f"others wrote into the target topic from offset {hint.target_end} on"
        self._sides.require_equal_or_auto(why)
        known = hint._replace(translated=why, equal_end=hint.target_end)
        return self.count_on(place, known, ends, is_news=True)

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

    def count_on(self, place: Place, hint: Standing, ends: Ends, *, is_news: bool = False) -> Position | None:
        """Count our records behind the hint in the target, and as many in the source: there it goes on."""
        ours = [
            batch
            for batch in data_batches(
                self._sides.target, place.target, place.target_partition, max(hint.target_end, 0), ends.log_end
            )
            if batch.header.producer_id == self._sides.id_of(place)
        ]
        last_sequence = ours[-1].header.last_sequence if ours else hint.last_sequence
        if ends.state and ends.state.last_sequence not in (-1, last_sequence):
            return None
        written = sum(batch.header.records for batch in ours)
        skipped = evidence.skip_records(
            self._sides.source, place, hint.next_offset, written, ours[-1] if ours else None
        )
        return Position(
            next_offset=skipped.next_offset,
            target_next=ends.log_end,
            last_sequence=ends.last_sequence(last_sequence),
            source_epoch=-1 if written else hint.source_epoch,
            log_start=hint.log_start,
            translated=hint.translated,
            equal_end=hint.equal_end,
            runs=tuple(pair_up(skipped.stretches, [stretch for batch in ours for stretch in batch.stretches])),
            is_news=is_news,
        )
