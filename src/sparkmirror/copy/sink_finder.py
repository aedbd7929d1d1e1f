"""Finds where a sink's rows go on: by the sequence, or with `offsets.preserve` by their offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from sparkmirror.copy import facts
from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.count_on import CountOn, target_next
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import LeasePartition, Rules
from sparkmirror.copy.place import Ends, Place, Position
from sparkmirror.copy.position import PositionFinder
from sparkmirror.copy.row_feed import RowFeed, TailCheck
from sparkmirror.copy.row_write import Found
from sparkmirror.copy.sides import NotYetError, Sides
from sparkmirror.copy.sink_position import MicroBatch, plan_base
from sparkmirror.copy.source_view import RowsView
from sparkmirror.copy.tail import read_tail
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import NO_TOPIC_ID, TopicInfo
from sparkmirror.net.offsets import EARLIEST, LATEST, describe_producer, list_offsets
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.standing import Standing


class SinkFinder:
    """One task of one micro-batch. `read_hint`: the newest progress record of a partition."""

    with_notes = False

    def __init__(
        self,
        now: MicroBatch,
        beginner: Beginner,
        read_hint: Callable[[tuple[str, int]], Standing | None],
        rules: Rules,
        *,
        preserve: bool,
    ) -> None:
        self._now = now
        self._beginner = beginner
        self._target = beginner.target
        self._producer_id = beginner.producer_id
        self._read_hint = read_hint
        self._rules = rules
        self._preserve = preserve
        self.bases: dict[tuple[str, int], int] = {}

    def open(self, topic: str, partition: int) -> tuple[LeasePartition, int | None]:
        place = (topic, partition)
        hint = self._read_hint(place)
        base = self.bases[place] = plan_base(hint, self._now)
        if self._preserve and hint and hint.translated:
            raise facts.not_equal(hint.translated)
        leased = LeasePartition(topic=topic, partition=partition, remote=topic, hint=hint)
        return leased, None if self._preserve else base

    def read_missing(self, leased: LeasePartition, first: int, end: int) -> Iterator[pa.RecordBatch] | None:
        """What a query does not bring, it has left out."""
        return None

    def find(self, cursor: Cursor, feed: RowFeed) -> Found | str:
        place = self._place(cursor)
        if isinstance(place, str):
            return place
        if place.is_new_target:
            raise facts.sink_target_recreated(place.target.name)
        return self._find_by_offset(place, feed) if self._preserve else self._find_by_sequence(place)

    def _place(self, cursor: Cursor) -> Place | str:
        leased = cursor.leased
        info = self._target.fetch_metadata([leased.topic]).topics.get(leased.topic)
        if info is None or leased.partition not in info.leaders:
            raise facts.unseen(self._target.address, Right("WRITE", TOPIC, leased.topic), leased.partition, info)
        if info.leaders[leased.partition].node < 0:
            return f"{cursor} has no leader"
        nowhere = TopicInfo(leased.topic, NO_TOPIC_ID, {}, 0, False)
        return Place(
            leased.partition,
            nowhere,
            info,
            hint=cursor.hint,
            unequal=cursor.unequal,
            is_forgotten=cursor.is_forgotten,
        )

    def _find_by_sequence(self, place: Place) -> Found | str:
        place = replace(place, producer_id=self._producer_id)  # others may write there, too
        ends = self._ends(place)
        readable = self._offset(place, LATEST)
        if ends is None or readable is None:
            return "the target's leader does not say where its log ends"
        hint = place.hint
        if hint is None:
            new = Position(
                next_offset=0, target_next=readable, last_sequence=-1, translated="rows are numbered", is_news=True
            )
            return Found(place, self._beginner.begin(place, new, lambda: -1))
        if ends.state and (ends.last_sequence(), hint.target_end <= ends.log_end) == (hint.last_sequence, True):
            return Found(place, self._position(place, hint, hint.next_offset, hint.target_end, hint.last_sequence))
        try:
            return self._count(place, hint, ends)
        except NotYetError as why:
            return str(why)

    def _count(self, place: Place, hint: Standing, ends: Ends) -> Found:
        sides = self._sides(hint.next_offset)
        sides.require_all_readable(place, ends.log_end)
        tally = CountOn(sides).tally(place, hint, ends)
        if tally.written < 0:
            raise facts.sink_target_truncated(place.target.name, ends.log_end, hint.target_end, tally.lost)
        if tally.written and tally.tail is None:
            raise facts.sink_position_unknown(f"{place.target.name}-{place.partition}", tally.written)
        next_offset = hint.next_offset + tally.written
        last_sequence = hint.last_sequence if tally.last_sequence is None else tally.last_sequence
        position = self._position(place, hint, next_offset, target_next(place, hint, tally), last_sequence)
        name, tail = f"{place.target.name}-{place.partition}", tally.tail
        return Found(place, position, tail and TailCheck(name, tail, next_offset - tally.behind))

    def _position(self, place: Place, hint: Standing, next_offset: int, target_next: int, sequence: int) -> Position:
        return Position(
            next_offset=next_offset,
            target_next=target_next,
            last_sequence=-1 if place.is_forgotten else sequence,
            translated=hint.translated,
        )

    def _sides(self, first: int) -> Sides:
        return Sides(RowsView(first), self._target, self._producer_id, self._rules, lambda: True)

    def _find_by_offset(self, place: Place, feed: RowFeed) -> Found | str:
        first = feed.first
        assert first is not None
        position = PositionFinder(self._sides(first)).find_one(place)
        if isinstance(position, str):
            return position
        if isinstance(position, MirrorError):
            raise facts.for_sink(position)
        position = self._beginner.begin(place, position, lambda: feed.first_timestamp)
        check = None
        if position.next_offset > first:
            start = self._offset(place, EARLIEST) or 0
            tail = read_tail(self._target, place.target, place.partition, start, position.target_next)
            last = tail and tail.data
            check = last and TailCheck(f"{place.target.name}-{place.partition}", last, last.header.end)
        return Found(place, replace(position, is_news=False), check)

    def _ends(self, place: Place) -> Ends | None:
        key = place.target_key
        leader = {key: place.target_leader}
        states = describe_producer(self._target, leader, self._producer_id)
        log_end = list_offsets(self._target, leader, LATEST, log_end=True).get(key)
        return None if key not in states or log_end is None else Ends(states[key], log_end)

    def _offset(self, place: Place, which: int) -> int | None:
        key = place.target_key
        return list_offsets(self._target, {key: place.target_leader}, which).get(key)
