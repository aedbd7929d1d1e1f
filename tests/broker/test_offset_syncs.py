"""Offset syncs are pairs of the same record's offsets, in MirrorMaker 2's bytes, on the cluster that the file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.offsets.offset_syncs import OffsetSync, parse_record
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.source_logs.markers import write_markers


def read_syncs(servers: str, name: str, topic: str) -> list[OffsetSync]:
    with Cluster(address(servers)) as cluster:
        records = InternalTopic(cluster, name, partitions=1, replication_factor=1).read()
        found = [parse_record(record.key, record.value) for record in records]
    return [sync for sync in found if sync and sync.topic == topic]


@pytest.mark.parametrize("location", ["source", "target"])
def test_each_run_begins_with_a_sync(pair: Pair, topic: str, tmp_path: Path, location: str) -> None:
    create_topic(pair.source, topic, 1)
    for turn in range(4):
        produce(pair.source, topic, ({"value": b"%d-%d" % (turn, i), "partition": 0} for i in range(200)))
        write_markers(pair.source, topic, 3)
    extra = KEYS | {"offsets.preserve": "never", "offset-syncs.topic.location": location}
    file = write_flow(tmp_path, pair.source, pair.target, topic, extra)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        alias = mirror.flow.source.alias
        name = f"mm2-offset-syncs.{'B' if location == 'source' else alias}.internal"
        servers = pair.source if location == "source" else pair.target
        await_condition(lambda: name in topics(servers), "the topic", 30)
        mirror.round(1.2)
        await_condition(lambda: len(read_syncs(servers, name, topic)) >= 8, "the syncs", 30)
    source, target = read_all(pair.source, topic)[0], read_all(pair.target, f"{alias}.{topic}")[0]
    pairs = {(here.offset, there.offset) for here, there in zip(source, target, strict=True)}
    syncs = read_syncs(servers, name, topic)
    assert all((sync.upstream_offset, sync.downstream_offset) in pairs for sync in syncs)
    assert {203 * turn for turn in range(4)} <= {sync.upstream_offset for sync in syncs}
