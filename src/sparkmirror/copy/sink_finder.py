"""Finds where a sink's rows go on: by the sequence, or with `offsets.preserve` by their offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from sparkmirror.copy import facts
from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import LeasePartition, Rules
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.position import PositionFinder
from sparkmirror.copy.row_feed import RowFeed, TailCheck
from sparkmirror.copy.row_write import Found
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.sink_position import MicroBatch, count_ahead, plan_base
from sparkmirror.copy.source_view import RowsView
from sparkmirror.copy.tail import data_batches, read_tail
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import NO_TOPIC_ID, TopicInfo
from sparkmirror.net.offsets import EARLIEST, LATEST, ProducerState, describe_producer, list_offsets
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.standing import Standing

BEHIND = "the target's replicas are behind its leader"


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
        ends = self._ends(place)
        if ends is None:
            return "the target's leader does not say where the log ends"
        state, log_end = ends
        hint = place.hint
        if hint is None:
            new = Position(
                next_offset=0, target_next=log_end, last_sequence=-1, translated="rows are numbered", is_news=True
            )
            return Found(place, self._beginner.begin(place, new, lambda: -1))
        if state is not None and not count_ahead(place.target.name, hint, state.last_sequence):
            return Found(place, self._position(place, hint, 0, log_end, hint.last_sequence))
        if self._offset(place, LATEST) != log_end:
            return BEHIND
        ours = [
            batch
            for batch in data_batches(self._target, place.target, place.partition, hint.target_end, log_end)
            if batch.header.producer_id == self._producer_id
        ]
        last_sequence = ours[-1].header.last_sequence if ours else hint.last_sequence
        if state is not None and last_sequence != state.last_sequence:
            return BEHIND
        written = sum(batch.header.records for batch in ours)
        position = self._position(place, hint, written, log_end, last_sequence)
        check = TailCheck(f"{place.target.name}-{place.partition}", ours[-1], position.next_offset) if ours else None
        return Found(place, position, check)

    def _position(self, place: Place, hint: Standing, written: int, log_end: int, last_sequence: int) -> Position:
        return Position(
            next_offset=hint.next_offset + written,
            target_next=log_end,
            last_sequence=-1 if place.is_forgotten else last_sequence,
            translated=hint.translated,
        )

    def _find_by_offset(self, place: Place, feed: RowFeed) -> Found | str:
        first = feed.first
        assert first is not None
        sides = Sides(RowsView(first), self._target, self._producer_id, self._rules, lambda: True)
        finder = PositionFinder(sides)
        position = finder.find([place]).get(0)
        if position is None:
            return BEHIND
        if isinstance(position, MirrorError):
            raise position
        position = self._beginner.begin(place, position, lambda: feed.first_timestamp)
        check = None
        if position.next_offset > first:
            start = self._offset(place, EARLIEST) or 0
            tail = read_tail(self._target, place.target, place.partition, start, position.target_next)
            check = tail and TailCheck(f"{place.target.name}-{place.partition}", tail, tail.header.end)
        return Found(place, replace(position, is_news=False), check)

    def _ends(self, place: Place) -> tuple[ProducerState | None, int] | None:
        key = place.target_key
        leader = {key: place.target_leader}
        states = describe_producer(self._target, leader, self._producer_id)
        log_end = list_offsets(self._target, leader, LATEST, log_end=True).get(key)
        return None if key not in states or log_end is None else (states[key], log_end)

    def _offset(self, place: Place, which: int) -> int | None:
        key = place.target_key
        return list_offsets(self._target, {key: place.target_leader}, which).get(key)
