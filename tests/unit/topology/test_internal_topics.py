"""Factors and internal topics, as MirrorMaker 2 has them."""

from __future__ import annotations

import pytest

from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.factors import Factor, plan_factor, why_impossible
from sparkmirror.topology.internal_topics import InternalTopicPlan, plan_internal_topics
from tests.support.flow_text import flow_of

COMPACT = {"cleanup.policy": "compact"}
SMALL = {"segment.bytes": "1048576"}


def planned(more: str = "") -> dict[str, InternalTopicPlan]:
    flow = flow_of(more)
    return {topic.name: topic for topic in plan_internal_topics(flow, choose_policy(flow))}


def test_names_partitions_cleanup_and_factors_are_mirrormakers() -> None:
    found = planned("heartbeats.topic.replication.factor=1\n")
    assert list(found) == ["heartbeats", "a.checkpoints.internal", "mm2-offset-syncs.b.internal"]
    assert all(topic.partitions == 1 for topic in found.values())
    assert [topic.configs for topic in found.values()] == [COMPACT, COMPACT | SMALL, COMPACT]
    assert [topic.replication_factor for topic in found.values()] == [1, 3, 3]
    assert [topic.on_source for topic in found.values()] == [False, False, True]
    assert found["heartbeats"].key == "heartbeats.topic.replication.factor"


def test_offset_syncs_on_the_target_are_named_for_the_source() -> None:
    found = planned("offset-syncs.topic.location=target\n")
    assert not found["mm2-offset-syncs.a.internal"].on_source


def test_the_separator_is_in_internal_names_unless_it_is_switched_off() -> None:
    assert "mm2-offset-syncs_b_internal" in planned("replication.policy.separator=_\n")
    off = "replication.policy.separator=_\nreplication.policy.internal.topic.separator.enabled=false\n"
    assert {"heartbeats", "a.checkpoints.internal", "mm2-offset-syncs.b.internal"} == planned(off).keys()


def test_what_is_switched_off_has_no_topic() -> None:
    off = "emit.heartbeats.enabled=false\nemit.checkpoints.enabled=false\nemit.offset-syncs.enabled=false\n"
    assert planned(off) == {}
    assert "heartbeats" not in planned("emit.heartbeats.interval.seconds=-1\n")


def test_a_retention_time_deletes_as_well() -> None:
    text = "heartbeats.topic.retention.ms=86400000\na->b.checkpoints.topic.retention.ms=-1\n"
    found = planned(text + "offset-syncs.topic.retention.ms=1000\n")
    assert [topic.configs for topic in found.values()] == [
        {"cleanup.policy": "compact,delete", "retention.ms": ms} | more
        for ms, more in (("86400000", {}), ("-1", SMALL), ("1000", {}))
    ]


def test_a_factor_of_the_source_is_capped_at_live_brokers_with_a_warning() -> None:
    assert plan_factor(None, 3, 3, "b") == Factor(3)
    capped = plan_factor(None, 3, 1, "b")
    assert capped.value == 1 and "3 replicas, and cluster b has 1 live broker" in capped.warning
    assert plan_factor(-1, 3, 1, "b") == Factor(-1)
    assert plan_factor(2, 3, 1, "b") == Factor(2)


@pytest.mark.parametrize(("value", "live", "possible"), [(1, 1, True), (-1, 1, True), (2, 1, False), (3, 2, False)])
def test_a_factor_is_compared_with_live_brokers(value: int, live: int, possible: bool) -> None:
    said = why_impossible("replication.factor", value, live, "b")
    assert (said == "") is possible
    if said:
        assert f"replication.factor is {value}" in said and f"set it to {live}" in said
