"""Which topics a flow mirrors, and what must be created for them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.topology.partition import TopicPartition
from sparkmirror.topology.policy import DefaultReplicationPolicy
from sparkmirror.topology.select import (
    MirroredPartition,
    TopicPair,
    TopicPlan,
    TopicSelector,
    TopicToCreate,
    TopicToExtend,
    plan_topics,
)


def flow(more: str = "") -> FlowConfig:
    text = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\na->b.enabled=true\n" + more
    return parse_mirror_config(text, "f").flows[0]


def selector(more: str = "") -> TopicSelector:
    return TopicSelector.of(flow(more), DefaultReplicationPolicy())


@pytest.mark.parametrize(
    ("topic", "replicated"),
    [
        ("orders", True),
        ("c.orders", True),
        ("b.orders", False),
        ("c.b.orders", False),
        ("c.d.b.orders", False),
        ("orders.b", True),
        ("a.orders", True),
        ("heartbeats", True),
        ("b.heartbeats", False),
        ("mm2-configs.b.internal", False),
        ("c.checkpoints.internal", False),
        ("__consumer_offsets", False),
        ("orders.replica", False),
    ],
)
def test_default_choice(topic: str, replicated: bool) -> None:
    assert selector().should_replicate(topic) is replicated


def test_heartbeats_pass_whatever_the_filter_says_unless_switched_off() -> None:
    chosen = selector("topics=orders\n")
    assert chosen.should_replicate("heartbeats") and not chosen.should_replicate("other")
    off = TopicSelector(topic_filter=chosen.topic_filter, policy=chosen.policy, target=chosen.target, heartbeats=False)
    assert not off.should_replicate("heartbeats")


def test_a_new_topic_is_created_with_the_sources_partitions_and_mirrored_later() -> None:
    plan = plan_topics({"t": 3}, {}, flow("replication.factor=1\n"))
    assert plan == TopicPlan(
        create=(TopicToCreate(topic="a.t", partitions=3, replication_factor=1),),
        extend=(),
        mirror=(),
        pairs=(TopicPair(topic="t", remote="a.t", partitions=3, present=0),),
    )


def test_a_grown_topic_is_extended_while_its_old_partitions_go_on() -> None:
    plan = plan_topics({"t": 3}, {"a.t": 2}, flow())
    assert plan.create == ()
    assert plan.extend == (TopicToExtend(topic="a.t", partitions=3),)
    assert [(m.source, m.target) for m in plan.mirror] == [
        (TopicPartition("t", 0), TopicPartition("a.t", 0)),
        (TopicPartition("t", 1), TopicPartition("a.t", 1)),
    ]


def test_a_target_with_more_partitions_is_left_as_it_is() -> None:
    plan = plan_topics({"t": 1}, {"a.t": 5, "other": 1}, flow())
    mirrored = MirroredPartition(source=TopicPartition("t", 0), remote_topic="a.t")
    pair = TopicPair(topic="t", remote="a.t", partitions=1, present=5)
    assert plan == TopicPlan(create=(), extend=(), mirror=(mirrored,), pairs=(pair,))


def test_topics_outside_the_flow_are_not_planned() -> None:
    plan = plan_topics({"t": 1, "b.t": 1, "__x": 1, "u": 1}, {}, flow("topics=t,b.t\n"))
    assert [each.topic for each in plan.create] == ["a.t"]


def test_a_source_topic_without_known_partitions_is_left_alone() -> None:
    plan = plan_topics({"t": 0}, {}, flow())
    assert (plan.create, plan.extend, plan.mirror) == ((), (), ())


def test_a_plan_travels_by_pickle() -> None:
    plan = plan_topics({"t": 3, "u": 1}, {"a.t": 2}, flow())
    assert pickle.loads(pickle.dumps(plan)) == plan


topics = st.dictionaries(st.sampled_from("tuvw"), st.integers(1, 5))


@given(source=topics, target=topics)
def test_carrying_out_a_plan_leaves_only_mirroring(source: dict[str, int], target: dict[str, int]) -> None:
    present = {f"a.{name}": count for name, count in target.items()}
    plan = plan_topics(source, present, flow())
    created = {each.topic: each.partitions for each in plan.create}
    extended = {each.topic: each.partitions for each in plan.extend}
    after = present | created | extended
    settled = plan_topics(source, after, flow())
    assert (settled.create, settled.extend) == ((), ())
    wanted = [TopicPartition(name, number) for name in sorted(source) for number in range(source[name])]
    assert [each.source for each in settled.mirror] == wanted
    assert set(plan.mirror) <= set(settled.mirror)
