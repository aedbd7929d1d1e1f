"""Finds where a flow's rows go on: as the copy does, from the target's log and the source's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from sparkmirror.copy.beginning import Beginner
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import Lease, LeasePartition
from sparkmirror.copy.log_start import first_timestamp
from sparkmirror.copy.position import PositionFinder
from sparkmirror.copy.row_feed import RowFeed
from sparkmirror.copy.row_reader import RowReader
from sparkmirror.copy.row_write import Found
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.source_view import ClusterView
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.standing import Standing


class FlowFinder:
    """One task of a flow. `read_hint`: the newest progress record of a partition."""

    with_notes = True

    def __init__(
        self,
        lease: Lease,
        source: Cluster,
        beginner: Beginner,
        read_hint: Callable[[tuple[str, int]], Standing | None],
        unguarded_ok: Callable[[], bool],
    ) -> None:
        self._source = source
        self._target = beginner.target
        self._isolation = lease.rules.isolation
        self._beginner = beginner
        self._read_hint = read_hint
        self._leased = {(p.topic, p.partition): p for p in lease.partitions}
        view = ClusterView(source, self._isolation)
        self._finder = PositionFinder(Sides(view, self._target, lease.producer_id, lease.rules, unguarded_ok))

    def open(self, topic: str, partition: int) -> tuple[LeasePartition, int | None]:
        leased = self._leased[topic, partition]
        return replace(leased, hint=self._read_hint((topic, partition)) or leased.hint), None

    def read_missing(self, leased: LeasePartition, first: int, end: int) -> Iterator[pa.RecordBatch] | None:
        """What Spark did not bring: of a partition that stood still, or whose target lost its end."""
        reader = RowReader(self._source, leased.topic, leased.partition, self._isolation, with_notes=True)
        return reader.read(first, end)

    def find(self, cursor: Cursor, feed: RowFeed) -> Found | str:
        source = self._source.fetch_metadata([cursor.leased.topic])
        target = self._target.fetch_metadata([cursor.leased.remote])
        place = cursor.locate(source, target, (self._source.address, self._target.address))
        if isinstance(place, MirrorError):
            raise place
        if isinstance(place, str):
            return place
        position = self._finder.find_one(place)
        if isinstance(position, str):
            return position
        if isinstance(position, MirrorError):
            raise position
        if position.is_news or position.log_start:
            log_start = position.log_start
            position = self._beginner.begin(place, position, lambda: first_timestamp(self._source, place, log_start))
        return Found(place, position)
