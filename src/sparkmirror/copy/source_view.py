"""What a position is found from on the source's side: a partition of a cluster, or rows that Spark brings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from sparkmirror.copy.estimate import estimate_holes
from sparkmirror.copy.tail import Batch, copyable_batches
from sparkmirror.net.cluster import Cluster, Leader, TopicInfo
from sparkmirror.net.offsets import EARLIEST, LATEST, EpochEnd, Partition, fetch_epoch_ends, list_offsets
from sparkmirror.protocol.fetch import READ_COMMITTED


class SourceView(Protocol):
    def bounds(self, topic: TopicInfo, partition: int) -> tuple[int, int] | None:
        """First and end offset; None if that can't be said now."""
        ...

    def offset_since(self, topic: TopicInfo, partition: int, seconds: float) -> int | None:
        """The first record of the last so many seconds, else the end; None if that can't be said now."""
        ...

    def copyable(self, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
        """Batches that hold records to copy in `first..end`."""
        ...

    def estimate_holes(self, topic: TopicInfo, partition: int, start: int, end: int) -> int:
        """About so many offsets without a record to copy."""
        ...

    def epoch_ends(
        self, leaders: Mapping[Partition, Leader], epochs: Mapping[Partition, int]
    ) -> dict[Partition, EpochEnd]:
        """Where logs that were read in these epochs are still the same; left out if that can't be said now."""
        ...


class ClusterView:
    def __init__(self, cluster: Cluster, isolation: int, skip_producers: tuple[int, ...] = ()) -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._skip_producers = skip_producers

    def bounds(self, topic: TopicInfo, partition: int) -> tuple[int, int] | None:
        key = (topic.name, partition)
        leader = {key: topic.leaders[partition]}
        start = list_offsets(self._cluster, leader, EARLIEST).get(key)
        end = list_offsets(self._cluster, leader, LATEST).get(key)
        return None if start is None or end is None or start > end else (start, end)

    def offset_since(self, topic: TopicInfo, partition: int, seconds: float) -> int | None:
        key = (topic.name, partition)
        leader = {key: topic.leaders[partition]}
        committed = self._isolation == READ_COMMITTED
        end = list_offsets(self._cluster, leader, LATEST, committed=committed).get(key)
        if not seconds or end is None:
            return end
        since_ms = int((time.time() - seconds) * 1000)
        found = list_offsets(self._cluster, leader, since_ms, committed=committed).get(key)
        return end if found is not None and found < 0 else found

    def copyable(self, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
        return copyable_batches(self._cluster, topic, partition, first, end, self._isolation, self._skip_producers)

    def estimate_holes(self, topic: TopicInfo, partition: int, start: int, end: int) -> int:
        return estimate_holes(self._cluster, topic, partition, start, end, self._isolation)

    def epoch_ends(
        self, leaders: Mapping[Partition, Leader], epochs: Mapping[Partition, int]
    ) -> dict[Partition, EpochEnd]:
        return fetch_epoch_ends(self._cluster, leaders, epochs)


class RowsView:
    """Rows on their way: where they begin is known, and nothing of what comes later."""

    def __init__(self, first: int) -> None:
        self._first = first

    def bounds(self, topic: TopicInfo, partition: int) -> tuple[int, int] | None:
        return self._first, 1 << 62

    def offset_since(self, topic: TopicInfo, partition: int, seconds: float) -> int | None:
        return self._first

    def copyable(self, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
        return iter(())

    def estimate_holes(self, topic: TopicInfo, partition: int, start: int, end: int) -> int:
        return 0

    def epoch_ends(
        self, leaders: Mapping[Partition, Leader], epochs: Mapping[Partition, int]
    ) -> dict[Partition, EpochEnd]:
        return {}
