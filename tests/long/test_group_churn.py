"""Groups that come, go, grow and are of every kind, beside what `status` says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from sparkmirror.client import MirrorClient
from sparkmirror.client import TopicPartition as Remote
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.net.groups import delete_groups
from sparkmirror.protocol.committed import Committed
from tests.conftest import Pair
from tests.support import group_members
from tests.support.command import run_command
from tests.support.group_members import committed, consuming, join_share_group
from tests.support.group_rounds import commit, following, groups_of
from tests.support.kafka_client import (
    add_partitions,
    await_condition,
    create_topic,
    delete_topic,
    produce,
    topics,
    total,
)
from tests.support.local_mirror import LocalMirror


def cluster(servers: str) -> Cluster:
    return Cluster(ClusterAddress(alias="X", bootstrap=(servers,)))


def group_rows(mirror: LocalMirror) -> dict[str, dict[str, Any]]:
    """What `sparkmirror status --json` says of each group."""
    document = json.loads(run_command("status", str(mirror.file), "--json").stdout)
    return {row["group"]: row for row in document["flows"][0]["groups"]}


def test_groups_of_both_protocols_come_and_go_and_partitions_are_added(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    new, share = f"{topic}-new", f"{topic}-share"
    with (
        following(pair, topic, tmp_path, {"refresh.topics.interval.seconds": "0.5"}) as mirror,
        groups_of(mirror) as groups,
    ):
        alias = mirror.flow.source.alias
        remote = f"{alias}.{topic}"
        mirror.round(1.2)
        with consuming(pair.source, topic, topic, "consumer") as consumer, cluster(pair.source) as source:
            stored = group_members.commit(consumer, {(topic, 0): Committed(7, "note", 0), (topic, 1): Committed(3)})
            join_share_group(source, share, topic)
            assert groups.round()[topic].committed == 2, "it reads at the source, and is idle on the target"
            with cluster(pair.target) as target:
                found = fetch_group_offsets(target, [topic])[topic]
            assert found == {(remote, 0): Committed(7, stored[topic, 0].metadata, -1), (remote, 1): Committed(3)}

            commit(pair.source, new, {(topic, 1): 5})
            add_partitions(pair.source, topic, 3)
            mirror.await_topics(3)
            produce(pair.source, topic, ({"value": b"%d" % i, "partition": 2} for i in range(10)))
            mirror.round(1.2)
            group_members.commit(consumer, {(topic, 2): Committed(6)})
            reports = groups.round()
            assert reports.keys() == {topic, new} and not any(report.why for report in reports.values())
            assert committed(pair.target, topic, [(remote, 2)]) == {(remote, 2): 6}
            assert committed(pair.target, new, [(remote, 1)]) == {(remote, 1): 5}
            rows = group_rows(mirror)
            assert {group: row["why"] for group, row in rows.items()} == {
                topic: "",
                new: "",
                share: "share groups are not supported",
            }
            assert (rows[share]["checkpointed"], rows[share]["synced"]) == (None, None)
            assert all(row["checkpoint_age_seconds"] < 60 for group, row in rows.items() if group != share)
            listed = run_command("groups", str(mirror.file)).stdout
            assert f"{share}: share groups are not supported" in listed

            assert delete_groups(source, [new]) == {}
            assert groups.round().keys() == {topic}
        text = mirror.status()
        assert "2 consumer groups, checkpoints" in text and "1 not up to date" in text
        assert new not in text and f"{share}" in text
        assert committed(pair.target, new, [(remote, 1)]) == {(remote, 1): 5}, "as in MirrorMaker 2 it stays"
        with MirrorClient(pair.target) as client:
            assert client.remote_consumer_offsets(new, alias)[Remote(remote, 1)].offset == 5
        AdminClient({"bootstrap.servers": pair.source}).delete_consumer_groups([share])


@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_empty_partitions_have_their_places(pair: Pair, topic: str, tmp_path: Path, preserve: str) -> None:
    """MirrorConnectorsIntegrationBaseTest.testReplicationWithEmptyPartition. Here also one that became empty."""
    create_topic(pair.source, topic, 3)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    admin = AdminClient({"bootstrap.servers": pair.source})
    for gone in admin.delete_records([TopicPartition(topic, 1, 20)]).values():
        gone.result(30)
    commit(pair.source, topic, {(topic, 0): 20, (topic, 1): 20, (topic, 2): 0})
    with following(pair, topic, tmp_path, {"offsets.preserve": preserve}, partitions=3) as mirror:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.round(1.2)
        with groups_of(mirror) as groups:
            report = groups.round()[topic]
        there = committed(pair.target, topic, [(remote, p) for p in range(3)])
        print(report, there)
    assert not report.why
    assert there == {(remote, 0): 20, (remote, 1): 20 if preserve == "auto" else 0, (remote, 2): 0}


def test_nothing_is_said_of_what_was_never_mirrored(pair: Pair, topic: str, tmp_path: Path) -> None:
    """MirrorConnectorsIntegrationBaseTest.testNoCheckpointsIfNoRecordsAreMirrored,
    MirrorCheckpointTaskTest.testNoCheckpointForTopicWithoutOffsetSyncs."""
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    commit(pair.source, topic, {(topic, 0): 7})
    with following(pair, topic, tmp_path) as mirror, groups_of(mirror) as groups:
        kept = f"{mirror.flow.source.alias}.checkpoints.internal"
        await_condition(lambda: kept in topics(pair.target), "the topic of checkpoints", 30)
        report = groups.round()[topic]
        assert (report.emitted, report.committed) == (0, 0)
        row = group_rows(mirror)[topic]
        assert (row["checkpoint_age_seconds"], row["why"]) == (None, f"{topic}-0: nothing of it was mirrored yet")
        mirror.round(1.2)
        report = groups.round()[topic]
        assert (report.emitted, report.committed, report.why) == (1, 1, "")
        row = group_rows(mirror)[topic]
        assert row["why"] == "" and row["checkpoint_age_seconds"] < 60


def test_a_checkpoints_topic_that_holds_strange_records_or_is_lost(pair: Pair, topic: str, tmp_path: Path) -> None:
    """CheckpointStoreTest. Commits do not wait for checkpoints, and these are all emitted again when they can be."""
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    with (
        following(pair, topic, tmp_path, {"refresh.topics.interval.seconds": "1"}) as mirror,
        groups_of(mirror) as groups,
    ):
        kept = f"{mirror.flow.source.alias}.checkpoints.internal"
        mirror.round(1.2)
        produce(pair.target, kept, ({"key": key, "value": value} for key, value in ((b"x", b"y"), (b"\0\1g", None))))
        commit(pair.source, topic, {(topic, 0): 7, (topic, 1): 8})
        assert (groups.round()[topic].emitted, groups.round()[topic].emitted) == (2, 0)
        delete_topic(pair.target, kept)
        commit(pair.source, topic, {(topic, 0): 9})
        assert groups.round()[topic].committed == 1

        def is_whole_again() -> bool:
            groups.round()
            return kept in topics(pair.target) and total(pair.target, kept) == 2

        await_condition(is_whole_again, "checkpoints to be emitted anew", 30)
        assert not groups.round()[topic].why


def test_groups_that_were_synced_go_with_the_source_s_where_that_is_wanted(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    idle, active, used, kept = names = [f"{topic}-{name}" for name in ("idle", "active", "used", "kept")]
    for group in names:
        commit(pair.source, group, {(topic, 0): 12})
    extra = {"sync.group.deletes.enabled": "true", "emit.offset-syncs.enabled": "false"}
    with (
        following(pair, topic, tmp_path, extra) as mirror,
        groups_of(mirror) as groups,
        cluster(pair.source) as source,
        cluster(pair.target) as target,
    ):
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.round(1.2)
        assert [report.committed for report in groups.round().values()] == [1] * 4
        commit(pair.target, used, {(remote, 0): 15})
        with consuming(pair.target, active, remote):
            assert delete_groups(source, [idle, active, used]) == {}
            assert groups.round().keys() == {kept}
            assert fetch_group_offsets(target, [idle])[idle] == {}
            whys = {group: row["why"] for group, row in group_rows(mirror).items()}
            assert whys == {
                kept: "",
                active: "it was deleted at the source, and has members on the target",
                used: "it was deleted at the source, and its offsets on the target are not those that were synced",
            }
        groups.round()
        left = {g: o for g, o in fetch_group_offsets(target, names).items() if isinstance(o, dict)}
    assert {group: [c.offset for c in offsets.values()] for group, offsets in left.items()} == {
        idle: [],
        active: [],
        used: [15],
        kept: [12],
    }
