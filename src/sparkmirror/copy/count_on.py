"""Where offsets are translated: our records behind the last known place are counted, in both logs.

    known          source offset N comes next, the target's log ended at T, our last sequence was S
    target log     ... S |T   S+1 .. S+5 | others' | S+6 .. S+9 |        nine were written since
    source log     ... | N          nine records to copy, the last of them those of the target's last batch | next

A target that lost its end has fewer of ours than were known: its log ends before T, or its leader's last sequence is
behind S, or, where the leader remembers nothing, what stands before T is not our record S. Others may have written
there since, so that the log is longer than T again. Then as many are counted back in the source.

Batches are read one by one and only the last one is kept, however long the log is. A log that others write to is read
in parts (`Sides.count_bytes`): each ends in a place to search on from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from sparkmirror.copy import evidence, facts
from sparkmirror.copy.evidence import Ending
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.sides import ANY_SIZE, Sides, behind
from sparkmirror.copy.tally import ALL, Tally, count_steps
from sparkmirror.topology.run import pair_up
from sparkmirror.topology.standing import Standing


class CountOn:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def decide(self, place: Place, hint: Standing, ends: Ends, *, is_news: bool = False) -> Position:
        """All that the leader holds must be readable, but of partitions that others write to as well."""
        tally = self._open(place, hint, ends)
        if not self._count_part(place, tally):
            return self._so_far(place, hint, ends, tally)
        self._confirm(place, hint, ends, tally)
        if tally.written < 0:
            return self._after_loss(place, hint, ends, tally)
        position = self._go_on(place, hint, ends, tally)
        return replace(position, is_news=is_news or tally.readable < hint.target_end)

    def from_both_beginnings(self, place: Place, source_start: int, why: str, ends: Ends) -> Position:
        """Progress was lost: all of ours is counted that the target holds, and as many from the source's start."""
        log_start, readable = self._sides.target_start(place), self._readable(place, ends)
        tally = Tally(None, log_start, readable, log_start)
        began = Standing(source_start, target_end=log_start, translated=why)
        if not self._count_part(place, tally):
            return self._so_far(place, began, ends, tally)
        if tally.end < 0:
            raise facts.position_unknown("progress was lost, and the target holds none of the records that were copied")
        self._confirm(place, began, ends, tally)
        return replace(self._go_on(place, began, ends, tally), is_news=True)

    # -- the target's side

    def tally(self, place: Place, hint: Standing, ends: Ends) -> Tally:
        """What was written since, or is missing: see `Tally.written`."""
        tally = self._open(place, hint, ends)
        self._count(place, tally)
        self._confirm(place, hint, ends, tally)
        return tally

    def _open(self, place: Place, hint: Standing, ends: Ends) -> Tally:
        log_start, readable = self._sides.target_start(place), self._readable(place, ends)
        if place.is_shared and place.is_as_left and ends.state is None:
            return Tally(hint.last_sequence, log_start, readable, max(hint.target_end, readable))
        if hint.target_end < hint.searched_end <= self._sides.same_until(place, hint.searched_epoch):
            return Tally(hint.last_sequence, log_start, readable, hint.searched_end, hint.searched_gap)
        return Tally(hint.last_sequence, log_start, readable, hint.target_end)

    def _readable(self, place: Place, ends: Ends) -> int:
        return self._sides.high_watermark(place) if place.is_shared else ends.log_end

    def _count_part(self, place: Place, tally: Tally) -> bool:
        """Whether all of it was read, which may be much where others write, too."""
        has_parts = place.is_shared and place.target_leader.epoch >= 0
        return self._count(place, tally, self._sides.count_bytes if has_parts else ANY_SIZE)

    def _count(self, place: Place, tally: Tally, most_bytes: int = ANY_SIZE) -> bool:
        ours, size = self._sides.id_of(place), 0
        for batch in self._sides.batches(place, max(tally.read_to, tally.log_start), tally.readable):
            if batch.header.producer_id == ours and not batch.header.is_control:
                tally.add(batch)
            else:
                tally.pass_over(batch.header)
            size += len(batch.data)
            if size >= most_bytes and tally.may_pause:
                return False
        return True

    def _confirm(self, place: Place, hint: Standing, ends: Ends, tally: Tally) -> None:
        """What was counted must be what the leader remembers; if it remembers nothing, what is known must be there."""
        remembered = ends.last_sequence()
        if remembered >= 0:
            if tally.end < 0:
                tally.take_remembered(remembered)
            is_gone = tally.end < 0 and hint.target_end < tally.log_start
            if tally.last_sequence != remembered or (tally.end < 0 < tally.written and not is_gone):
                self._refute(place, ends, tally.readable)
        elif tally.end < 0 and hint.last_sequence >= 0:
            tally.written = self._find_missing(place, hint, tally.log_start, tally.readable)
        elif tally.end < 0 and tally.readable < hint.target_end:
            tally.written = ALL

    def _refute(self, place: Place, ends: Ends, readable: int) -> NoReturn:
        if readable < ends.log_end:
            raise behind(readable, ends.log_end)
        why = f"the target's leader remembers sequence {ends.last_sequence()} of our producer, and its log another one"
        self._sides.refute(place, ends, why)

    def _find_missing(self, place: Place, hint: Standing, log_start: int, readable: int) -> int:
        """By the records before the known end, how many of ours are missing there, as a negative number."""
        end, ours = min(hint.target_end, readable), self._sides.id_of(place)
        is_shorter = readable < hint.target_end
        if end <= log_start:
            return ALL if is_shorter else 0
        at = None if is_shorter else self._sides.batch_at(place, end - 1)
        if not is_shorter and (at is None or at.first >= end):
            return 0  # retention or compaction has removed it
        if at and (at.producer_id, at.last_sequence) == (ours, hint.last_sequence):
            return 0
        tail = self._sides.read_tail(place, log_start, end, ours)
        if tail is None:  # behind our markers nothing is known; else it was ours that stood there, or is not any more
            return 0 if at and at.is_control and not place.is_shared else ALL
        missing = min(0, count_steps(hint.last_sequence, tail.last.last_sequence))
        is_known = is_shorter or self._sides.is_without_gap(place, tail.last.end, end)
        return missing if is_known else 0

    # -- the source's side

    def _go_on(self, place: Place, hint: Standing, ends: Ends, tally: Tally) -> Position:
        """Behind as many records of the source as the target has more than were known."""
        ending = tally.tail and Ending(tally.tail, tally.behind)
        skipped = evidence.skip_records(self._sides.source, place, hint.next_offset, tally.written, ending)
        is_shorter = tally.readable < hint.target_end
        last_sequence = hint.last_sequence if tally.last_sequence is None else tally.last_sequence
        is_searched = place.is_shared and not is_shorter
        return Position(
            next_offset=skipped.next_offset,
            target_next=target_next(place, hint, tally),
            last_sequence=ends.last_sequence(last_sequence),
            source_epoch=-1 if tally.written else hint.source_epoch,
            log_start=hint.log_start,
            translated=hint.translated,
            equal_end=min(hint.equal_end, tally.readable) if is_shorter else hint.equal_end,
            runs=tuple(pair_up(skipped.stretches, tally.stretches)),
            searched_end=tally.read_to if is_searched else -1,
            searched_gap=tally.absent,
            searched_epoch=place.target_leader.epoch if is_searched else -1,
        )

    def _so_far(self, place: Place, hint: Standing, ends: Ends, tally: Tally) -> Position:
        """What is known before all was read: the next search goes on behind it."""
        position = self._go_on(place, hint, ends, tally)
        last_sequence = hint.last_sequence if tally.last_sequence is None else tally.last_sequence
        return replace(position, last_sequence=last_sequence, is_search=True)

    def _after_loss(self, place: Place, hint: Standing, ends: Ends, tally: Tally) -> Position:
        """The target lost the end of what was copied: the source has it, behind the last record that is left."""
        truncated = facts.target_truncated(place.target.name, tally.readable, hint.target_end, tally.lost)
        self._sides.tolerate(place, self._sides.rules.on_divergence, truncated)
        tail = self._sides.read_tail(place, tally.log_start, tally.readable, self._sides.id_of(place))
        if tally.lost is None or tail is None or tail.data is None:
            raise facts.position_unknown(
                f"the target's log of {place.target.name} has lost its end, and holds no record that tells where that "
                "was in the source"
            )
        if ends.last_sequence() not in (-1, tail.last.last_sequence):
            self._refute(place, ends, tally.readable)
        gone = count_steps(tail.data.header.last_sequence, tail.last.last_sequence)
        ending = Ending(tail.data, gone)
        next_offset = evidence.step_back(self._sides.source, place, hint.next_offset, tally.lost, ending)
        return Position(
            next_offset=next_offset,
            target_next=tail.last.end if place.is_shared else tally.readable,
            last_sequence=ends.last_sequence(tail.last.last_sequence),
            log_start=hint.log_start,
            translated=hint.translated,
            equal_end=min(hint.equal_end, next_offset),
            is_news=True,
        )


def target_next(place: Place, hint: Standing, tally: Tally) -> int:
    """Where others write, too, the end of ours: it is looked for there when the leader remembers nothing."""
    if not place.is_shared:
        return tally.readable
    return tally.end if tally.end >= 0 else min(hint.target_end, tally.readable)
