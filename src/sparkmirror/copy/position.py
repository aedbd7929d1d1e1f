"""Finds where to go on: the target's log is the truth, everything else is only a hint.

    target log     | ... | our last batch | markers |      <- leader's log end
                                                    ^ the next append stands here
    leader says    last sequence of our producer id = that of our last batch
    source log     | ... | the same batch | holes   | next ...

The quick way, for most leases: the leader's last sequence and log end are both those of a hint, so nothing was
written since. Else the tail check: the last batch with records must be ours and end in exactly the sequence that the
leader remembers, and be what the source holds at that place; after it only markers may stand, and only where the source
has holes. Then the position is known, with equal offsets or translated.

Never from the high watermark alone: a slow follower keeps it behind what the leader holds, and copying from
there would append those records again. While it lags, the answer is "not yet" (the partition is left out).

The leader forgets a producer 24 h after its newest record's *timestamp* (`producer.id.expiration.ms`). For old data
the sequence then guards nothing, so the tail is believed only once no lease of an earlier driver can still
write: `unguarded_ok`.

Where the source has elected leaders since (the epoch of the newest record that was seen is not its leader's), it is
asked first how far its log is still the same (KIP-320): an unclean election may have cut off what was copied, and put
other records there. Brokers from 2.7 on would say it in the answer of a fetch; those before say it only so.

What the tail says otherwise is a named fact, and a policy says whether the partition stops there or goes on. Where
equal offsets are given up, or a new log is to begin above 0, the position says `is_news`: it is written to the progress
topic before anything is appended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sparkmirror.copy import evidence, facts
from sparkmirror.copy.lease import ALWAYS, CONTINUE, NEVER, NOTHING, NOWHERE, OLDEST, Rules
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.source_view import SourceView
from sparkmirror.copy.tail import Batch, data_batches, read_tail
from sparkmirror.errors import BrokerError, MirrorError, ProtocolError
from sparkmirror.net.cluster import Cluster, group_by
from sparkmirror.net.offsets import EARLIEST, LATEST, EpochEnd, ProducerState, describe_producer, list_offsets
from sparkmirror.protocol import codes
from sparkmirror.topology.run import pair_up
from sparkmirror.topology.standing import OTHERS, Standing

WAITS = "the target's replicas are behind its leader, or an earlier lease may still write"
MERGED = "several partitions are written into one of the target"


class PositionFinder:
    """Asks both clusters, blocking. `unguarded_ok`: no earlier lease can still write."""

    def __init__(
        self, source: SourceView, target: Cluster, producer_id: int, rules: Rules, unguarded_ok: Callable[[], bool]
    ) -> None:
        self._source = source
        self._target = target
        self._producer_id = producer_id
        self._rules = rules
        self._unguarded_ok = unguarded_ok

    def find(self, places: list[Place]) -> dict[int, Position | MirrorError]:
        """By index into `places`: a position or the fact that forbids one. Left out: not known yet."""
        errors: dict[tuple[str, int], int] = {}
        states = self._describe(places, errors)
        log_ends = list_offsets(self._target, {p.target_key: p.target_leader for p in places}, LATEST, log_end=True)
        unchanged = self._find_unchanged([p for p in places if p.has_elected])
        found: dict[int, Position | MirrorError] = {}
        for index, place in enumerate(places):
            key = place.target_key
            here = (place.source.name, place.partition)
            if errors.get(key) in codes.FORBIDDEN:
                found[index] = facts.unauthorized("target", f"READ on topic {place.target.name}", errors[key])
                continue
            if index not in states or key not in log_ends or (place.has_elected and here not in unchanged):
                continue
            try:
                position = self._decide(place, Ends(states[index], log_ends[key]), unchanged.get(here))
                if position is not None and place.is_forgotten:
                    position = replace(position, last_sequence=-1)
                if position is not None and (place.check_range or _is_beyond(place.stop_at, position)):
                    position = self._bring_into_range(place, position)
            except MirrorError as error:
                found[index] = error
                continue
            except (BrokerError, ProtocolError) as error:  # of this partition: the others are looked at all the same
                if isinstance(error, ProtocolError) or error.code in codes.FORBIDDEN:
                    found[index] = facts.unread(error)
                continue
            if position is not None:
                found[index] = position
        return found

    def _describe(self, places: list[Place], errors: dict[tuple[str, int], int]) -> dict[int, ProducerState | None]:
        """What the leaders remember of the producers, by index into `places`."""
        found: dict[int, ProducerState | None] = {}
        for producer_id, group in group_by(range(len(places)), lambda i: self._id(places[i])).items():
            leaders = {places[i].target_key: places[i].target_leader for i in group}
            states = describe_producer(self._target, leaders, producer_id, errors)
            found |= {i: states[places[i].target_key] for i in group if places[i].target_key in states}
        return found

    def _id(self, place: Place) -> int:
        return self._producer_id if place.producer_id is None else place.producer_id

    def _find_unchanged(self, places: list[Place]) -> dict[tuple[str, int], EpochEnd]:
        """How far the source's logs are still those that were copied from."""
        if not places:
            return {}
        leaders = {(p.source.name, p.partition): p.source.leaders[p.partition] for p in places}
        epochs = {(p.source.name, p.partition): p.hint.source_epoch for p in places if p.hint}
        return self._source.epoch_ends(leaders, epochs)

    def _decide(self, place: Place, ends: Ends, unchanged: EpochEnd | None) -> Position | None:
        if place.producer_id is not None:
            return self._decide_shared(place, ends)
        if place.is_new_source or place.is_new_target:
            return self._after_recreation(place, ends)
        if unchanged and unchanged.end >= 0 and place.hint:
            if unchanged.end < place.hint.next_offset:
                return self._after_cut(place, place.hint, ends, unchanged)
            place = replace(place, hint=place.hint._replace(source_epoch=unchanged.epoch))
        hint, state = place.hint, ends.state
        if state and hint and (state.last_sequence, ends.log_end) == (hint.last_sequence, hint.target_end):
            return self._unless_unequal(place, _from_hint(hint))
        if ends.log_end == 0 and state is None:
            if hint and hint.target_end > 0:
                self._tolerate(place, self._rules.on_divergence, facts.target_wiped(place.target.name, hint.target_end))
            return self._from_the_start(place, 0)
        if state is None and not self._unguarded_ok():
            return None
        if self._high_watermark(place) != ends.log_end:
            return None
        if hint and hint.translated:
            return self._after_translated(place, hint, ends)
        position = self._after_tail(place, ends)
        return position and self._unless_unequal(place, position)

    # -- one of several origins

    def _decide_shared(self, place: Place, ends: Ends) -> Position | None:
        """Others write into the target partition, too: ours are told by the producer id, and counted."""
        self._require_equal_or_auto(MERGED)
        hint = place.hint
        if place.is_new_source:
            self._tolerate(place, self._rules.on_recreate, facts.source_recreated(place.source.name))
        elif place.is_new_target:
            self._tolerate(place, self._rules.on_recreate, facts.target_recreated(place.target.name))
        if hint is None or hint.target_end < 0 or place.is_new_source or place.is_new_target:
            return self._begin_shared(place, ends)
        if ends.state and ends.state.last_sequence == hint.last_sequence:
            return _from_hint(hint)
        return self._count_shared(place, hint, ends)

    def _begin_shared(self, place: Place, ends: Ends) -> Position | None:
        hint, bounds, log_start = place.hint, self._source_bounds(place), self._target_start(place)
        if bounds is None or log_start is None:
            return None
        if hint is None and ends.state:  # the progress topic was lost: all of ours is counted, from both beginnings
            began = Standing(bounds[0], target_end=log_start, translated=MERGED)
            return self._count_shared(place, began, ends, is_news=True)
        bounds = self._beginning(place)
        if bounds is None:
            return None
        is_told = hint is not None and hint.target_end < 0
        return Position(
            next_offset=hint.next_offset if hint and is_told else bounds[0],
            target_next=ends.log_end,
            last_sequence=_last(ends),
            translated=MERGED,
            equal_end=OTHERS if is_told else 0,
            is_news=True,
        )

    def _count_shared(self, place: Place, hint: Standing, ends: Ends, *, is_news: bool = False) -> Position | None:
        """The leader's memory says when all of ours is counted; without it, all must be readable that is there."""
        readable = self._high_watermark(place)
        if readable is None or (ends.state is None and (readable < ends.log_end or not self._unguarded_ok())):
            return None
        return self._after_translated(place, hint, Ends(ends.state, readable), is_news=is_news)

    # -- beginnings

    def _from_the_start(self, place: Place, target_next: int) -> Position | None:
        """Nothing says that any of the source is in the target yet. `target_next` above 0: others have written there.

        What they wrote last may be what the source begins with: a MirrorMaker 2 that left no progress.
        """
        bounds = self._beginning(place)
        if bounds is None:
            return None
        start, end = bounds
        if place.hint and place.hint.target_end <= 0 and not place.is_new_source:
            start = max(start, place.hint.next_offset)  # a MirrorMaker 2, an operator or an earlier lease said so
        why = self._why_translated(place, start, end)
        begins_here = True
        if target_next:
            log_start = self._target_start(place)
            if log_start is None:
                return None
            skipped = evidence.skip_written(self._source, self._target, place, start, log_start, target_next)
            begins_here, start = skipped == start, skipped
            if start != target_next:
                why = why or f"the target topic held other records up to offset {target_next - 1} before"
                self._require_equal_or_auto(why)
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
        is_chosen = self._rules.begin != OLDEST and place.hint is None  # at another time it would be another one
        is_news = start > 0 or is_chosen
        return Position(next_offset=start, target_next=0, last_sequence=-1, log_start=start, is_news=is_news)

    def _beginning(self, place: Place) -> tuple[int, int] | None:
        """Where a partition begins of which nothing is known, and the source's end."""
        bounds, begin = self._source_bounds(place), self._rules.begin
        if bounds is None or begin == OLDEST or place.hint is not None:
            return bounds
        if begin == NOWHERE:
            raise facts.not_told_where(begin)
        start = self._source.offset_since(place.source, place.partition, 0.0 if isinstance(begin, str) else begin)
        return None if start is None else (max(start, bounds[0]), bounds[1])

    def _why_translated(self, place: Place, start: int, end: int) -> str:
        """Why equal offsets can't or shall not be kept from the beginning; empty if they can."""
        rules = self._rules
        if rules.preserve == NEVER:
            return "offsets.preserve is never"
        why = place.unequal
        if not why and (end - start > rules.max_hole or rules.fill_with == NOTHING):
            holes = self._source.estimate_holes(place.source, place.partition, start, end)
            if holes > rules.max_hole:
                why = f"about {holes} of the source's offsets are holes, more than offsets.preserve.max.hole"
            elif holes and rules.fill_with == NOTHING:
                why = "the target permits neither markers nor transactions, so holes can't be filled"
        if why:
            self._require_equal_or_auto(why)
        return why

    def _require_equal_or_auto(self, why: str) -> None:
        if self._rules.preserve == ALWAYS:
            raise facts.not_equal(why)

    def _after_recreation(self, place: Place, ends: Ends) -> Position | None:
        """A topic was deleted and made anew. Both anew: a new pair. Else a policy decides."""
        if not place.is_new_target:
            self._tolerate(place, self._rules.on_recreate, facts.source_recreated(place.source.name))
            start = self._source_bounds(place)
            if start is None:
                return None
            why = "the source topic was deleted and created anew"
            self._require_equal_or_auto(why)
            return Position(
                next_offset=start[0],
                target_next=ends.log_end,
                last_sequence=_last(ends),
                translated=why,
                is_news=True,
            )
        if not place.is_new_source:
            self._tolerate(place, self._rules.on_recreate, facts.target_recreated(place.target.name))
        if ends.log_end == 0 and ends.state is None:
            return self._from_the_start(place, 0)
        return self._after_tail(replace(place, hint=None), ends)

    def _after_cut(self, place: Place, hint: Standing, ends: Ends, unchanged: EpochEnd) -> Position | None:
        """The source lost the end of what was copied, and may have other records there by now."""
        cut = facts.source_truncated(place.source.name, hint.next_offset, unchanged.end)
        self._tolerate(place, self._rules.on_divergence, cut)
        if self._high_watermark(place) != ends.log_end or not (ends.state or self._unguarded_ok()):
            return None
        why = f"the source was truncated to offset {unchanged.end}"
        self._require_equal_or_auto(why)
        return Position(
            next_offset=unchanged.end,
            target_next=ends.log_end,
            last_sequence=_last(ends, hint.last_sequence),
            source_epoch=unchanged.epoch,
            log_start=hint.log_start,
            translated=why,
            equal_end=min(hint.equal_end, unchanged.end) if hint.translated else unchanged.end,
            is_news=True,
        )

    # -- the tail

    def _after_tail(self, place: Place, ends: Ends) -> Position | None:
        """From the target's last batch with records, where offsets were equal so far."""
        hint = place.hint
        log_start = self._target_start(place)
        if log_start is None:
            return None
        if hint and hint.target_end < 0:
            return self._after_predecessor(place, hint, ends, log_start)
        wanted = hint.log_start if hint else 0
        if ends.log_end <= wanted:
            return Position(next_offset=wanted, target_next=ends.log_end, last_sequence=_last(ends), log_start=wanted)
        tail = read_tail(self._target, place.target, place.target_partition, log_start, ends.log_end)
        if tail is None:
            return self._without_tail(place, ends, log_start)
        if tail.header.producer_id != self._producer_id:
            return self._after_foreign(place, ends, tail)
        if ends.state and ends.state.last_sequence >= 0 and tail.header.last_sequence != ends.state.last_sequence:
            return None
        if hint and ends.log_end < hint.target_end:
            lost = facts.target_truncated(place.target.name, ends.log_end, hint.target_end)
            self._tolerate(place, self._rules.on_divergence, lost)
        tail_epoch = evidence.compare(self._source, place, tail)
        next_offset = evidence.first_record(self._source, place, tail.header.end, ends.log_end)
        why = ""
        if next_offset is not None:
            why = f"markers stand at target offsets where the source has records, from {next_offset} on"
            self._require_equal_or_auto(why)
        return Position(
            next_offset=ends.log_end if next_offset is None else next_offset,
            target_next=ends.log_end,
            last_sequence=_last(ends, tail.header.last_sequence),
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
        if log_start == 0 and evidence.first_record(self._source, place, 0, ends.log_end) is None:
            return Position(next_offset=ends.log_end, target_next=ends.log_end, last_sequence=_last(ends))
        agrees = hint and hint.target_end == ends.log_end
        if not hint or not agrees or (state and state.last_sequence not in (-1, hint.last_sequence)):
            raise facts.position_unknown(
                f"the target's log holds no record but ends at offset {ends.log_end}, and no progress record says "
                "that this is where the mirror stood"
            )
        return _from_hint(hint)

    def _after_foreign(self, place: Place, ends: Ends, tail: Batch) -> Position | None:
        """Somebody else wrote last: before us, as a MirrorMaker 2 that we follow, or into a mirrored topic."""
        hint = place.hint
        if hint is None:
            if _last(ends) >= 0:
                raise facts.foreign_writer(place.target.name, tail.header.first, ends.log_end)
            return self._from_the_start(place, ends.log_end)
        self._tolerate(
            place,
            self._rules.on_divergence,
            facts.foreign_writer(place.target.name, hint.target_end, ends.log_end),
        )
        why = f"others wrote into the target topic from offset {hint.target_end} on"
        self._require_equal_or_auto(why)
        known = hint._replace(translated=why, equal_end=hint.target_end)
        return self._after_translated(place, known, ends, is_news=True)

    def _after_predecessor(self, place: Place, hint: Standing, ends: Ends, log_start: int) -> Position:
        """A MirrorMaker 2 or an operator said which record comes next, and nothing of the target's offsets.

        A MirrorMaker 2 that was killed has copied more than it said; an operator means what he says.
        """
        next_offset = hint.next_offset
        if not hint.is_set:
            next_offset = evidence.skip_written(self._source, self._target, place, next_offset, log_start, ends.log_end)
        why = ""
        if self._rules.preserve == NEVER:
            why = "offsets.preserve is never"
        elif next_offset != ends.log_end:
            why = f"it was taken over at source offset {next_offset} where the target's log ends at {ends.log_end}"
            self._require_equal_or_auto(why)
        return Position(
            next_offset=next_offset,
            target_next=ends.log_end,
            last_sequence=_last(ends),
            translated=why,
            equal_end=OTHERS if why else 0,
            is_news=True,
        )

    def _after_translated(self, place: Place, hint: Standing, ends: Ends, *, is_news: bool = False) -> Position | None:
        """Count our records behind the hint in the target, and as many in the source: there it goes on."""
        ours = [
            batch
            for batch in data_batches(
                self._target, place.target, place.target_partition, max(hint.target_end, 0), ends.log_end
            )
            if batch.header.producer_id == self._id(place)
        ]
        last_sequence = ours[-1].header.last_sequence if ours else hint.last_sequence
        if ends.state and ends.state.last_sequence not in (-1, last_sequence):
            return None
        written = sum(batch.header.records for batch in ours)
        skipped = evidence.skip_records(self._source, place, hint.next_offset, written, ours[-1] if ours else None)
        return Position(
            next_offset=skipped.next_offset,
            target_next=ends.log_end,
            last_sequence=_last(ends, last_sequence),
            source_epoch=-1 if written else hint.source_epoch,
            log_start=hint.log_start,
            translated=hint.translated,
            equal_end=hint.equal_end,
            runs=tuple(pair_up(skipped.stretches, [stretch for batch in ours for stretch in batch.stretches])),
            is_news=is_news,
        )

    # -- policies and bounds

    def _unless_unequal(self, place: Place, position: Position) -> Position:
        """The copy met something that equal offsets can't pass, a hole that is too large: translate from here on."""
        if not place.unequal or position.translated:
            return position
        self._require_equal_or_auto(place.unequal)
        return replace(position, translated=place.unequal, equal_end=position.next_offset, is_news=True)

    def _bring_into_range(self, place: Place, position: Position) -> Position:
        """Name it if the source can't give the next offset: removed before it was copied, or not written any more."""
        bounds = self._source_bounds(place)
        if bounds is None:
            return position
        start, end = bounds
        if position.next_offset > end:
            truncated = facts.source_truncated(place.source.name, position.next_offset, end)
            self._tolerate(place, self._rules.on_divergence, truncated)
            why = f"the source was truncated to offset {end}"
            self._require_equal_or_auto(why)
            equal_end = min(position.equal_end, end) if position.translated else end
            return replace(
                position, next_offset=end, source_epoch=-1, translated=why, equal_end=equal_end, is_news=True
            )
        if position.next_offset >= start:
            return position
        if position.target_next == position.log_start:  # nothing was copied yet: there is nothing to have a gap in
            return replace(position, next_offset=start, log_start=start, is_news=True)
        self._tolerate(place, self._rules.on_gap, facts.gap(position.next_offset, start))
        if position.translated:
            return replace(position, next_offset=start, source_epoch=-1)
        if start - position.next_offset > self._rules.max_hole or self._rules.fill_with == NOTHING:
            why = f"source offsets {position.next_offset}..{start - 1} were removed before they were copied"
            self._require_equal_or_auto(why)
            equal_end = position.next_offset
            return replace(
                position, next_offset=start, source_epoch=-1, translated=why, equal_end=equal_end, is_news=True
            )
        return replace(position, fetch_from=start, source_epoch=-1)

    def _tolerate(self, place: Place, policy: str, fact: MirrorError) -> None:
        if policy != CONTINUE:
            raise fact
        place.notes.append(f"{fact.name}: {fact}")

    def _source_bounds(self, place: Place) -> tuple[int, int] | None:
        return self._source.bounds(place.source, place.partition)

    def _target_start(self, place: Place) -> int | None:
        key = place.target_key
        return list_offsets(self._target, {key: place.target_leader}, EARLIEST).get(key)

    def _high_watermark(self, place: Place) -> int | None:
        key = place.target_key
        return list_offsets(self._target, {key: place.target_leader}, LATEST).get(key)


def _from_hint(hint: Standing) -> Position:
    return Position(
        next_offset=hint.next_offset,
        target_next=hint.target_end,
        last_sequence=hint.last_sequence,
        source_epoch=hint.source_epoch,
        log_start=hint.log_start,
        translated=hint.translated,
        equal_end=hint.equal_end,
    )


def _is_beyond(stop_at: int | None, position: Position) -> bool:
    """More was copied than there was to copy: then the source has lost something."""
    return stop_at is not None and position.next_offset > stop_at


def _last(ends: Ends, if_forgotten: int = -1) -> int:
    """The last sequence as the leader counts: -1 if it forgot our records and has seen only markers since."""
    return ends.state.last_sequence if ends.state else if_forgotten
