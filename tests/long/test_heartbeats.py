"""Heartbeats over three clusters, A->B->C, by one mirror: MirrorMaker 2's names and bytes, hop by hop."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sparkmirror.offsets.heartbeats import parse_record
from sparkmirror.topology.policy import DefaultReplicationPolicy, count_hops
from tests.support.kafka_client import Record, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess

ALIASES = ("A", "B", "C")
SETTINGS = {
    "clusters": ", ".join(ALIASES),
    "A->B.enabled": "true",
    "B->C.enabled": "true",
    "topics": "orders",
    "A->C.emit.heartbeats.enabled": "false",
    "replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "emit.heartbeats.interval.seconds": "1",
    "refresh.topics.interval.seconds": "1",
    "lease.seconds": "5",
    "spark.ui.enabled": "false",
}


def pairs_of(records: list[Record]) -> set[tuple[str, str]]:
    read = [(record, parse_record(record.key, record.value)) for record in records]
    for record, heartbeat in read:
        assert heartbeat is not None
        assert record.timestamp[1] == heartbeat.timestamp_ms
    return {(heartbeat.source, heartbeat.target) for _, heartbeat in read if heartbeat}


def user_topics(servers: str) -> set[str]:
    return {name for name in topics(servers) if not name.startswith(("__", "mm2-")) and not name.endswith(".internal")}


@pytest.mark.timeout(240)
def test_heartbeats_go_from_cluster_to_cluster_and_tell_the_hops(three: dict[str, str]) -> None:
    create_topic(three["A"], "orders", 1)
    produce(three["A"], "orders", [{"value": b"1"}])
    text = SETTINGS | {f"{alias}.bootstrap.servers": servers for alias, servers in three.items()}
    with MirrorProcess("".join(f"{key} = {value}\n" for key, value in text.items())) as mirror:
        far = "B.A.heartbeats"
        await_condition(lambda: far in topics(three["C"]) and total(three["C"], far) > 3, "the far heartbeats", 120)
        await_condition(lambda: "B.A.orders" not in topics(three["C"]) and total(three["B"], "A.orders") == 1, "orders")
        assert user_topics(three["A"]) == {"orders", "heartbeats"}
        assert user_topics(three["B"]) == {"heartbeats", "A.heartbeats", "A.orders"}
        assert user_topics(three["C"]) == {"heartbeats", "B.heartbeats", "B.A.heartbeats"}
        both = {("A", "B"), ("C", "B")}
        await_condition(lambda: pairs_of(read_all(three["B"], "heartbeats")[0]) == both, "both pairs on B", 30)
        before = total(three["B"], "heartbeats")
        took = await_condition(lambda: total(three["B"], "heartbeats") >= before + 20, "ten beats of two pairs", 30)
        print(f"ten beats took {took:.1f} s")
        assert 8 < took < 14
        assert mirror.terminate()[0] == 0
    # Every pair emits into its target, enabled or not, but for the one that was switched off.
    assert pairs_of(read_all(three["A"], "heartbeats")[0]) == {("B", "A"), ("C", "A")}
    assert pairs_of(read_all(three["B"], "heartbeats")[0]) == {("A", "B"), ("C", "B")}
    assert pairs_of(read_all(three["C"], "heartbeats")[0]) == {("B", "C")}
    assert pairs_of(read_all(three["C"], far)[0]) == {("B", "A"), ("C", "A")}
    policy = DefaultReplicationPolicy(aliases=ALIASES)
    assert [count_hops(policy, topics(three["C"]), alias) for alias in ALIASES] == [2, 1, -1]
    stamps = [r.timestamp[1] for r in read_all(three["C"], "heartbeats")[0]]
    assert all(later - earlier >= 900 for earlier, later in pairwise(stamps))


@pytest.mark.timeout(240)
def test_aliases_that_hold_the_separator_do_not_let_records_go_round(three: dict[str, str]) -> None:
    """The separator and aliases of a widely read sample, with which MirrorMaker 2 copies without end."""
    text = {
        "clusters": "cluster-1,cluster-2",
        "cluster-1.bootstrap.servers": three["A"],
        "cluster-2.bootstrap.servers": three["B"],
        "cluster-1->cluster-2.enabled": "true",
        "cluster-2->cluster-1.enabled": "true",
        "topics": ".*",
        "replication.policy.separator": "-",
    }
    create_topic(three["A"], "ping", 1)
    create_topic(three["B"], "pong", 1)
    produce(three["A"], "ping", ({"value": b"x"} for _ in range(100)))
    produce(three["B"], "pong", ({"value": b"x"} for _ in range(100)))
    lines = {key: value for key, value in SETTINGS.items() if "->" not in key} | text
    with MirrorProcess("".join(f"{key} = {value}\n" for key, value in lines.items())):
        there, back = "cluster-1-ping", "cluster-2-pong"
        await_condition(lambda: there in topics(three["B"]) and total(three["B"], there) == 100, "ping", 90)
        await_condition(lambda: back in topics(three["A"]) and total(three["A"], back) == 100, "pong", 90)
        beats = total(three["B"], "heartbeats")
        await_condition(lambda: total(three["B"], "heartbeats") > beats + 15, "fifteen looks at the topics", 60)
        names = topics(three["A"]) | topics(three["B"])
        assert not [name for name in names if name.count("cluster-") > 1 and not name.startswith("mm2-")]
        assert total(three["B"], there) == total(three["A"], back) == 100


@pytest.mark.timeout(120)
def test_a_heartbeat_connector_s_own_file_emits_and_mirrors_nothing(three: dict[str, str]) -> None:
    create_topic(three["A"], "bills", 1)
    lines = {
        "name": "pulse",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
        "source.cluster.alias": "alone",
        "target.cluster.alias": "C",
        "source.cluster.bootstrap.servers": three["A"],
        "target.cluster.bootstrap.servers": three["C"],
        "replication.internal.topic.replication.factor": "1",
        "spark.ui.enabled": "false",
    }
    with MirrorProcess("".join(f"{key} = {value}\n" for key, value in lines.items())):
        await_condition(
            lambda: (
                "heartbeats" in topics(three["C"]) and ("alone", "C") in pairs_of(read_all(three["C"], "heartbeats")[0])
            ),
            "a heartbeat",
            60,
        )
    assert "alone.bills" not in topics(three["C"])
    assert ("C", "alone") not in pairs_of(read_all(three["A"], "heartbeats")[0])
