"""The map of translated offsets says of every offset of real logs where its record stands, whatever was lost."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import Record, create_topic, delete_topic, end_offsets, produce, read_all, topics
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.source_logs.log_start import remove_records
from tests.support.source_logs.markers import write_markers

TRANSLATED = {"offsets.preserve": "never"}


def write_some(servers: str, topic: str, times: int, first: int = 0) -> None:
    """Records and holes by turns."""
    for turn in range(first, first + times):
        produce(servers, topic, ({"value": b"%d-%d" % (turn, i), "partition": turn % 2} for i in range(1 + turn % 7)))
        write_markers(servers, topic, 1 + turn % 3, partition=turn % 2)


@contextlib.contextmanager
def open_maps(file: Path, target: str) -> Iterator[dict[tuple[str, int], OffsetMap]]:
    """As a reader has them who knows nothing but the clusters."""
    storage = Storage.of(only_flow(file))
    with Cluster(address(target)) as cluster:
        kept = OffsetMapTopic(cluster, storage)
        kept.read()
        standings = ProgressTopic(cluster, storage).read()
        yield {place: kept.map_of(place, standing) for place, standing in standings.items()}


def assert_exact(found: OffsetMap, source: list[Record], target: list[Record]) -> None:
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


def test_records_whose_receipts_were_lost_are_in_the_map(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    file = write_flow(tmp_path, pair.source, pair.target, topic, TRANSLATED)
    for heard_last in (True, False, True):  # a driver each
        with mirroring(file) as mirror:
            mirror.await_topics(2)
            for heard in (True, False, False, heard_last):
                write_some(pair.source, topic, 8, first=end_offsets(pair.source, topic)[0])
                mirror.round(0.7, heard=heard)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.round(1.0)
        remote = mirror.flow.source.alias + "." + topic
    source, target = read_all(pair.source, topic), read_all(pair.target, remote)
    with open_maps(file, pair.target) as maps:
        for partition in (0, 1):
            assert len(source[partition]) == len(target[partition]) > 50
            assert_exact(maps[topic, partition], source[partition], target[partition])


def test_equal_offsets_need_no_map_until_others_write_into_the_target(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    file = write_flow(tmp_path, pair.source, pair.target, topic, {"on.divergence": "continue"})
    write_some(pair.source, topic, 6)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.round(1.2)
        alias = mirror.flow.source.alias
        assert Storage.named(alias).offset_map not in topics(pair.target)
        assert open_maps_equal(pair, topic, alias)
        produce(pair.target, f"{alias}.{topic}", ({"value": b"foreign", "partition": i % 2} for i in range(6)))
        write_some(pair.source, topic, 6, first=100)
        mirror.hints.clear()
        mirror.round(1.2)
    source, target = read_all(pair.source, topic), read_all(pair.target, f"{alias}.{topic}")
    with open_maps(file, pair.target) as maps:
        for partition in (0, 1):
            assert maps[topic, partition].equal_end > 0
            assert_exact(maps[topic, partition], source[partition], target[partition])


def open_maps_equal(pair: Pair, topic: str, alias: str) -> bool:
    with Cluster(address(pair.target)) as cluster:
        standings = ProgressTopic(cluster, Storage.named(alias)).read()
        kept = OffsetMapTopic(cluster, Storage.named(alias))
        return all(
            kept.map_of((topic, p), standings[topic, p]).to_target(end) == Translated(end)
            for p, end in end_offsets(pair.source, topic).items()
        )


@pytest.mark.parametrize("anew", ["source", "retention"])
def test_what_does_not_hold_any_more_is_forgotten(pair: Pair, topic: str, tmp_path: Path, anew: str) -> None:
    create_topic(pair.source, topic, 2)
    file = write_flow(tmp_path, pair.source, pair.target, topic, TRANSLATED | {"on.recreate": "continue"})
    write_some(pair.source, topic, 6)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.round(1.2)
        if anew == "source":
            delete_topic(pair.source, topic)
            create_topic(pair.source, topic, 2)
        else:
            remove_records(pair.source, topic, 3)
            remove_records(pair.target, f"{mirror.flow.source.alias}.{topic}", 2)
        write_some(pair.source, topic, 6, first=100)
        mirror.await_topics(2)
        mirror.round(1.5)
        remote = f"{mirror.flow.source.alias}.{topic}"
    source, target = read_all(pair.source, topic), read_all(pair.target, remote)
    with open_maps(file, pair.target) as maps:
        for partition in (0, 1):
            assert_exact(maps[topic, partition], source[partition], target[partition])
