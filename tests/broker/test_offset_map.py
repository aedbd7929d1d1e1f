"""The map of translated offsets says of every offset of real logs where its record stands, whatever was lost."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import (
    await_condition,
    create_topic,
    delete_topic,
    end_offsets,
    produce,
    read_all,
    topics,
)
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.offset_maps import assert_exact, open_maps, write_some
from tests.support.source_logs.log_start import remove_records

TRANSLATED = {"offsets.preserve": "never"}


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


@pytest.mark.parametrize("is_running", [False, True])
def test_a_lost_map_leaves_only_its_own_part_unknown(pair: Pair, topic: str, tmp_path: Path, is_running: bool) -> None:
    create_topic(pair.source, topic, 2)
    file = write_flow(tmp_path, pair.source, pair.target, topic, TRANSLATED)
    write_some(pair.source, topic, 6)
    with contextlib.ExitStack() as stack:
        mirror = stack.enter_context(mirroring(file))
        mirror.await_topics(2)
        mirror.catch_up(topic)
        alias = mirror.flow.source.alias
        before = end_offsets(pair.source, topic)
        if not is_running:
            stack.close()
        delete_topic(pair.target, Storage.named(alias).offset_map)
        await_condition(lambda: Storage.named(alias).offset_map not in topics(pair.target), "the end of the topic")
        if not is_running:
            mirror = stack.enter_context(mirroring(file))
            mirror.await_topics(2)
        for first in (100, 200):
            write_some(pair.source, topic, 3, first=first)
            mirror.catch_up(topic)
    source, target = read_all(pair.source, topic), read_all(pair.target, f"{alias}.{topic}")
    with open_maps(file, pair.target) as maps:
        for partition in (0, 1):
            found, new = maps[topic, partition], [r for r in source[partition] if r.offset >= before[partition]]
            assert found.to_target(before[partition] - 1) is None
            places = [Translated(r.offset) for r in target[partition][-len(new) :]]
            assert [found.to_target(record.offset) for record in new] == places
