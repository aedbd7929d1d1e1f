"""Finds where to go on: the target's log is the truth, everything else is only a hint.

    target log     | ... | our last batch | markers |      <- leader's log end
                                                    ^ the next append stands here
    leader says    last sequence of our producer id = that of our last batch
    source log     | ... | the same batch | holes   | next ...

The quick way, for most leases: the leader's last sequence and log end are both those of a hint, so nothing was
written since. Else the tail check (`tail_check.py`): the last batch must be ours and end in exactly the sequence that
the leader remembers, and be what the source holds at that place; after it only markers may stand, and only where the
source has holes. Where offsets are translated, our records behind the hint are counted in both logs (`count_on.py`). A
log that holds less of ours than the hint says was truncated.

Never from the high watermark alone: a slow follower keeps it behind what the leader holds, and copying from
there would append those records again. While it lags, the answer is what is waited for.

The leader forgets a producer 24 h after its newest record's *timestamp* (`producer.id.expiration.ms`). For old data
the sequence then guards nothing, so the tail is believed only once no lease of an earlier driver can still
write: `unguarded_ok`.

Where the source has elected leaders since (the epoch of the newest record that was seen is not its leader's), or
refuses the next offset, it is asked first how far its log is still the same (KIP-320): an unclean election may have cut
off what was copied, and put other records there. Brokers from 2.7 on would say it in the answer of a fetch; those
before say it only so.

What the tail says otherwise is a named fact, and a policy says whether the partition stops there or goes on. Where
equal offsets are given up, or a new log is to begin above 0, the position says `is_news`: it is written to the progress
topic before anything is appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sparkmirror.copy import facts
from sparkmirror.copy.count_on import CountOn
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.lease import NOTHING
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.shared_partition import SharedPartition
from sparkmirror.copy.sides import NotYetError, Sides
from sparkmirror.copy.tail_check import TailCheck
from sparkmirror.errors import BrokerError, MirrorError, ProtocolError
from sparkmirror.net.cluster import group_by
from sparkmirror.net.denial import describe_denial
from sparkmirror.net.offsets import LATEST, EpochEnd, ProducerState, describe_producer, list_offsets
from sparkmirror.protocol import codes
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.standing import Standing

Found = Position | MirrorError | str


class PositionFinder:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._first = FirstPlace(sides)
        self._counting = CountOn(sides)
        self._tail = TailCheck(sides, self._first, self._counting)
        self._shared = SharedPartition(sides, self._first, self._counting)

    def find_one(self, place: Place) -> Found:
        return next(found[0] for found in self.find([place]) if found)

    def find(self, places: list[Place]) -> Iterator[dict[int, Found]]:
        """By index into `places`: a position, the fact that forbids one, or what has to be waited for.

        First all but those that others write to, too, and that are not as they were left: there may be much to read.
        """
        errors: dict[tuple[str, int], int] = {}
        states = self._describe(places, errors)
        log_ends = list_offsets(
            self._sides.target, {p.target_key: p.target_leader for p in places}, LATEST, log_end=True
        )
        unchanged = self._find_unchanged([p for p in places if p.may_be_cut])

        def find_at(index: int) -> Found:
            place = places[index]
            key, here = place.target_key, (place.source.name, place.partition)
            if key not in log_ends:
                return "the target's leader does not say where its log ends"
            if place.may_be_cut and here not in unchanged:
                return "the source's leader does not say how far its log is unchanged"
            if index in states:
                ends = Ends(states[index], log_ends[key])
                return self._try(place, partial(self._decide, place, ends, unchanged.get(here)))
            if errors.get(key) in codes.FORBIDDEN:
                return self._try(place, partial(self._decide_unread, place, log_ends[key], unchanged.get(here)))
            said = codes.name_of(errors[key]) if key in errors else "nothing"
            return f"the target's leader says {said} of our producer"

        slow = {i for i, p in enumerate(places) if p.is_shared and i in states and not _is_as_known(p, states[i])}
        yield {index: find_at(index) for index in range(len(places)) if index not in slow}
        for index in sorted(slow):
            yield {index: find_at(index)}

    def _try(self, place: Place, decide: Callable[[], Position]) -> Found:
        """An error of this partition does not keep the others."""
        try:
            position = decide()
            if position.is_search:
                return position
            if place.is_forgotten:
                position = replace(position, last_sequence=-1)
            if place.check_range or _is_beyond(place.stop_at, position):
                position = self._bring_into_range(place, position)
        except MirrorError as fact:
            return fact
        except NotYetError as why:
            return str(why)
        except ProtocolError as error:
            return facts.unread(error)
        except BrokerError as error:
            return facts.unread(error) if error.code in codes.FORBIDDEN else str(error)
        return position

    def _describe(self, places: list[Place], errors: dict[tuple[str, int], int]) -> dict[int, ProducerState | None]:
        """What the leaders remember of the producers, by index into `places`."""
        found: dict[int, ProducerState | None] = {}
        for producer_id, group in group_by(range(len(places)), lambda i: self._sides.id_of(places[i])).items():
            leaders = {places[i].target_key: places[i].target_leader for i in group}
            states = describe_producer(self._sides.target, leaders, producer_id, errors)
            found |= {i: states[places[i].target_key] for i in group if places[i].target_key in states}
        return found

    def _find_unchanged(self, places: list[Place]) -> dict[tuple[str, int], EpochEnd]:
        """How far the source's logs are still those that were copied from."""
        if not places:
            return {}
        leaders = {(p.source.name, p.partition): p.source.leaders[p.partition] for p in places}
        epochs = {(p.source.name, p.partition): p.hint.source_epoch for p in places if p.hint}
        return self._sides.source.epoch_ends(leaders, epochs)

    def _decide(self, place: Place, ends: Ends, unchanged: EpochEnd | None) -> Position:
        if unchanged and place.hint and not place.is_new_target:
            if 0 <= unchanged.end < place.hint.next_offset:
                return self._after_cut(place, place.hint, ends, unchanged)
            known = unchanged.epoch if unchanged.end >= 0 else -1
            place = replace(place, hint=place.hint._replace(source_epoch=known))
        if place.is_shared:
            return self._shared.decide(place, ends)
        if place.is_new_source or place.is_new_target:
            return self._after_recreation(place, ends)
        hint, state = place.hint, ends.state
        if state and hint and (state.last_sequence, ends.log_end) == (hint.last_sequence, hint.target_end):
            return self._unless_unequal(place, Position.of(hint))
        if ends.log_end == 0 and state is None:
            if hint and hint.target_end > 0:
                self._sides.tolerate(
                    place, self._sides.rules.on_divergence, facts.target_wiped(place.target.name, hint.target_end)
                )
            return self._first.find(place, 0)
        self._sides.require_guarded(ends)
        self._sides.require_all_readable(place, ends.log_end)
        if hint and hint.translated and hint.target_end >= 0:
            return self._counting.decide(place, hint, ends)
        return self._unless_unequal(place, self._tail.decide(place, ends))

    def _decide_unread(self, place: Place, log_end: int, unchanged: EpochEnd | None) -> Position:
        """Who may not READ the target's topic is told neither its producers nor its last records.

        Then the progress must say all of it: a log that ends where it was left is as it was left.
        """
        hint = place.hint
        self._sides.require_guarded(Ends(None, log_end))
        is_cut = unchanged is not None and hint is not None and 0 <= unchanged.end < hint.next_offset
        if not place.is_shared and not (place.is_new_source or place.is_new_target or is_cut):
            if hint and hint.target_end == log_end:
                return self._unless_unequal(place, Position.of(hint))
            if log_end == 0 and not (hint and hint.target_end > 0):
                return self._first.find(place, 0)
        right = Right("READ", TOPIC, place.target.name)
        raise facts.unauthorized(
            describe_denial(self._sides.target.address, right, codes.TOPIC_AUTHORIZATION_FAILED),
            f", and its log ends at {log_end} where progress says {hint.target_end if hint else 'nothing'}, so what "
            "was copied last can't be told",
        )

    def _after_recreation(self, place: Place, ends: Ends) -> Position:
        """A topic was deleted and made anew. Both anew: a new pair. Else a policy decides."""
        if not place.is_new_target:
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.source_recreated(place.source.name))
            start, _ = self._sides.source_bounds(place)
            why = facts.SOURCE_ANEW
            self._sides.require_equal_or_auto(why)
            return Position(
                next_offset=start,
                target_next=ends.log_end,
                last_sequence=ends.last_sequence(),
                translated=why,
                is_news=True,
            )
        if not place.is_new_source:
            ours = self._tail.find_ours(place, ends)
            self._sides.tolerate(place, self._sides.rules.on_recreate, facts.target_recreated(place.target.name, ours))
        if ends.log_end == 0 and ends.state is None:
            return self._first.find(place, 0)
        return self._tail.decide_anew(replace(place, hint=None), ends)

    def _after_cut(self, place: Place, hint: Standing, ends: Ends, unchanged: EpochEnd) -> Position:
        """The source lost the end of what was copied, and may have other records there by now."""
        cut = facts.source_truncated(place.source.name, hint.next_offset, unchanged.end)
        self._sides.tolerate(place, self._sides.rules.on_divergence, cut)
        ours = self._shared.end_of_ours(place, hint, ends) if place.is_shared else self._end_of_log(place, hint, ends)
        if ours is None:
            raise facts.position_unknown("both logs lost the ends that they had, so where they part can't be told")
        why = f"{facts.SOURCE_CUT} {unchanged.end}"
        self._sides.require_equal_or_auto(why)
        return Position(
            next_offset=unchanged.end,
            target_next=ours[0],
            last_sequence=ours[1],
            source_epoch=unchanged.epoch,
            log_start=hint.log_start,
            translated=why,
            equal_end=min(hint.equal_end, unchanged.end) if hint.translated else unchanged.end,
            is_news=True,
        )

    def _end_of_log(self, place: Place, hint: Standing, ends: Ends) -> tuple[int, int] | None:
        """Where the target's log ends, and our last sequence; None: it holds less than was known."""
        self._sides.require_guarded(ends)
        self._sides.require_all_readable(place, ends.log_end)
        return (ends.log_end, ends.last_sequence(hint.last_sequence)) if ends.log_end >= hint.target_end else None

    # -- what holds for every position

    def _unless_unequal(self, place: Place, position: Position) -> Position:
        """The copy met something that equal offsets can't pass, a hole that is too large: translate from here on."""
        if not place.unequal or position.translated:
            return position
        self._sides.require_equal_or_auto(place.unequal)
        return replace(position, translated=place.unequal, equal_end=position.next_offset, is_news=True)

    def _bring_into_range(self, place: Place, position: Position) -> Position:
        """Name it if the source can't give the next offset: removed before it was copied, or not written any more."""
        start, end = self._sides.source_bounds(place)
        if position.next_offset > end:
            truncated = facts.source_truncated(place.source.name, position.next_offset, end)
            self._sides.tolerate(place, self._sides.rules.on_divergence, truncated)
            why = f"{facts.SOURCE_CUT} {end}"
            self._sides.require_equal_or_auto(why)
            equal_end = min(position.equal_end, end) if position.translated else end
            return replace(
                position, next_offset=end, source_epoch=-1, translated=why, equal_end=equal_end, is_news=True
            )
        if position.next_offset >= start:
            return position
        if position.target_next == position.log_start:  # nothing was copied yet: there is nothing to have a gap in
            return replace(position, next_offset=start, log_start=start, is_news=True)
        self._sides.tolerate(place, self._sides.rules.on_gap, facts.gap(position.next_offset, start))
        if position.translated:
            return replace(position, next_offset=start, source_epoch=-1, is_news=True)
        if start - position.next_offset > self._sides.rules.max_hole or self._sides.rules.fill_with == NOTHING:
            why = f"source offsets {position.next_offset}..{start - 1} were removed before they were copied"
            self._sides.require_equal_or_auto(why)
            equal_end = position.next_offset
            return replace(
                position, next_offset=start, source_epoch=-1, translated=why, equal_end=equal_end, is_news=True
            )
        return replace(position, fetch_from=start, source_epoch=-1)


def _is_as_known(place: Place, state: ProducerState | None) -> bool:
    return state is not None and place.hint is not None and state.last_sequence == place.hint.last_sequence


def _is_beyond(stop_at: int | None, position: Position) -> bool:
    """More was copied than there was to copy: then the source has lost something."""
    return stop_at is not None and position.next_offset > stop_at
