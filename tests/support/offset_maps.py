"""Logs with records and holes by turns, and whether the map of their offsets is exact."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage
from tests.support.flows import only_flow
from tests.support.java_reader import LogRecord
from tests.support.kafka_client import Record, produce
from tests.support.leases import address
from tests.support.source_logs.markers import write_markers


def write_some(servers: str, topic: str, times: int, first: int = 0) -> None:
    """Records and holes by turns, over two partitions."""
    for turn in range(first, first + times):
        produce(servers, topic, ({"value": b"%d-%d" % (turn, i), "partition": turn % 2} for i in range(1 + turn % 7)))
        write_markers(servers, topic, 1 + turn % 3, partition=turn % 2)


@contextlib.contextmanager
def open_maps(file: Path, target: str) -> Iterator[dict[tuple[str, int], OffsetMap]]:
    """As a reader has them who knows nothing but the clusters."""
    storage = Storage.of(only_flow(file))
    with Cluster(address(target)) as cluster:
        kept = OffsetMapTopic(cluster, storage)
        if storage.offset_map in cluster.fetch_metadata().topics:
            kept.read()
        standings = ProgressTopic(cluster, storage).read()
        yield {place: kept.map_of(place, standing) for place, standing in standings.items()}


def assert_exact(found: OffsetMap, source: Sequence[Record | LogRecord], target: Sequence[Record | LogRecord]) -> None:
    """From every offset on the next record is the same on both sides. Values are unique."""
    came = {record.value: record.offset for record in source}
    here, there = [record.offset for record in source], [r.offset for r in target if r.value in came]
    for offset in range(source[0].offset, source[-1].offset + 1):
        answer = found.to_target(offset)
        assert answer is not None and answer.is_exact
        assert bisect.bisect_left(there, answer.offset) == bisect.bisect_left(here, offset) + len(there) - len(here)
    for record in target:
        if record.value in came:
            assert found.to_source(record.offset) == Translated(came[record.value])
