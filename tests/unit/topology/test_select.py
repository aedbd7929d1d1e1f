"""Which topics a flow mirrors, and what must be created for them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError
from sparkmirror.topology.partition import TopicPartition
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
    return TopicSelector.of(flow(more))


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
    off = selector("topics=orders\nheartbeats.replication.enabled=false\n")
    assert not off.should_replicate("heartbeats")
    assert selector("topics=heart.*\nheartbeats.replication.enabled=false\n").should_replicate("heartbeats")
    assert selector("topics=orders\nreplication.policy.separator=_\n").should_replicate("c_heartbeats")


def test_a_new_topic_is_created_with_the_sources_partitions_and_mirrored_later() -> None:
    plan = plan_topics({"t": 3}, {}, selector())
    assert plan == TopicPlan(
        create=(TopicToCreate(topic="a.t", source="t", partitions=3),),
        extend=(),
        mirror=(),
        pairs=(TopicPair(topic="t", remote="a.t", partitions=3, present=0),),
    )


def test_a_grown_topic_is_extended_while_its_old_partitions_go_on() -> None:
    plan = plan_topics({"t": 3}, {"a.t": 2}, selector())
    assert plan.create == ()
    assert plan.extend == (TopicToExtend(topic="a.t", partitions=3),)
    assert [(m.source, m.target) for m in plan.mirror] == [
        (TopicPartition("t", 0), TopicPartition("a.t", 0)),
        (TopicPartition("t", 1), TopicPartition("a.t", 1)),
    ]


def test_a_target_with_more_partitions_is_left_as_it_is() -> None:
    plan = plan_topics({"t": 1}, {"a.t": 5, "other": 1}, selector())
    mirrored = MirroredPartition(source=TopicPartition("t", 0), target=TopicPartition("a.t", 0))
    pair = TopicPair(topic="t", remote="a.t", partitions=1, present=5)
    assert plan == TopicPlan(create=(), extend=(), mirror=(mirrored,), pairs=(pair,))


def test_topics_outside_the_flow_are_not_planned() -> None:
    plan = plan_topics({"t": 1, "b.t": 1, "__x": 1, "u": 1}, {}, selector("topics=t,b.t\n"))
    assert [each.topic for each in plan.create] == ["a.t"]


def test_a_source_topic_without_known_partitions_is_left_alone() -> None:
    plan = plan_topics({"t": 0}, {}, selector())
    assert (plan.create, plan.extend, plan.mirror) == ((), (), ())


def test_a_plan_travels_by_pickle() -> None:
    plan = plan_topics({"t": 3, "u": 1}, {"a.t": 2}, selector())
    assert pickle.loads(pickle.dumps(plan)) == plan


topics = st.dictionaries(st.sampled_from("tuvw"), st.integers(1, 5))


@given(source=topics, target=topics)
def test_carrying_out_a_plan_leaves_only_mirroring(source: dict[str, int], target: dict[str, int]) -> None:
    present = {f"a.{name}": count for name, count in target.items()}
    plan = plan_topics(source, present, selector())
    created = {each.topic: each.partitions for each in plan.create}
    extended = {each.topic: each.partitions for each in plan.extend}
    after = present | created | extended
    settled = plan_topics(source, after, selector())
    assert (settled.create, settled.extend) == ((), ())
    wanted = [TopicPartition(name, number) for name in sorted(source) for number in range(source[name])]
    assert [each.source for each in settled.mirror] == wanted
    assert set(plan.mirror) <= set(settled.mirror)


# -- cycles, as MirrorSourceConnectorTest has them


@pytest.mark.parametrize("topic", ["b.t", "b.a.t", "a.b.t", "b.a.b.t", "a.b.a.t"])
def test_no_way_that_passed_the_target_leads_there_again(topic: str) -> None:
    assert not selector().should_replicate(topic)


IDENTITY = "replication.policy.class=IdentityReplicationPolicy\n"


def test_under_identity_names_tell_nothing_but_heartbeats_are_kept_from_going_round() -> None:
    chosen = selector(IDENTITY)
    assert all(chosen.should_replicate(t) for t in ("t", "a.t", "b.t", "b.a.t", "heartbeats", "c.heartbeats"))
    assert not chosen.should_replicate("b.heartbeats") and not chosen.should_replicate("a.b.heartbeats")
    assert chosen.remote_name("t") == "t" and chosen.remote_name("heartbeats") == "a.heartbeats"


def test_aliases_with_the_separator_in_them_do_not_go_round() -> None:
    """Cut at the first separator, `cluster-2-t` would come from `cluster` and be mirrored back without end."""
    text = "clusters=cluster-1,cluster-2\nbootstrap.servers=h:1\nreplication.policy.separator=- \n"
    text += "cluster-1->cluster-2.enabled=true\ncluster-2->cluster-1.enabled=true\n"
    there, back = map(TopicSelector.of, parse_mirror_config(text, "f").flows)
    remote = there.remote_name("t")
    assert remote == "cluster-1-t"
    assert there.should_replicate("t") and not back.should_replicate(remote)


names = st.from_regex(r"[a-z][a-z.-]{0,6}[a-z]", fullmatch=True)


@given(
    topic=names,
    separator=st.sampled_from([".", "-", "_"]),
    aliases=st.lists(names, min_size=2, max_size=4, unique=True),
)
def test_whatever_the_names_a_topic_never_comes_back(topic: str, separator: str, aliases: list[str]) -> None:
    lines = ["clusters=" + ",".join(aliases), "bootstrap.servers=h:1", f"replication.policy.separator={separator}"]
    lines += [f"{a}->{b}.enabled=true" for a in aliases for b in aliases if a != b]
    flows = {
        (f.source.alias, f.target.alias): TopicSelector.of(f) for f in parse_mirror_config("\n".join(lines), "f").flows
    }
    held = {alias: {topic} if alias == aliases[0] else set() for alias in aliases}
    for _ in range(len(aliases) + 1):
        for (source, target), chosen in flows.items():
            held[target] |= {chosen.remote_name(t) for t in list(held[source]) if chosen.should_replicate(t)}
    settled = {alias: set(topics) for alias, topics in held.items()}
    for (source, target), chosen in flows.items():
        held[target] |= {chosen.remote_name(t) for t in list(held[source]) if chosen.should_replicate(t)}
    assert held == settled


# -- topics.map


def test_topics_are_renamed_by_name_and_by_regex() -> None:
    chosen = selector("topics.map=orders:orders-eu, logs-(.*):eu.$1\n")
    assert chosen.remote_name("orders") == "orders-eu"
    assert chosen.remote_name("logs-web") == "eu.web"
    assert chosen.remote_name("other") == "a.other"
    plan = plan_topics({"orders": 2}, {"orders-eu": 2}, chosen)
    assert [(m.source, m.target, m.is_shared) for m in plan.mirror] == [
        (TopicPartition("orders", n), TopicPartition("orders-eu", n), False) for n in range(2)
    ]


def test_merged_topics_are_as_wide_as_the_widest_and_partitions_go_round() -> None:
    chosen = selector("topics.map=.*:all\n")
    sources = {"two": 2, "three": 3, "five": 5}
    plan = plan_topics(sources, {}, chosen)
    assert plan.create == (TopicToCreate(topic="all", source="five", partitions=5),)
    assert plan.mirror == () and all(pair.is_shared for pair in plan.pairs)
    later = plan_topics(sources | {"seven": 7}, {"all": 5}, chosen)
    assert (later.create, later.extend) == ((), ())
    assert [m.target.partition for m in later.mirror if m.source.topic == "seven"] == [0, 1, 2, 3, 4, 0, 1]
    assert all(m.is_shared and m.target.topic == "all" for m in later.mirror)


def test_two_names_for_one_topic_are_a_merge_though_one_is_there_alone() -> None:
    chosen = selector("topics.map=x:all, y:all, z:own\n")
    shared = {pair.topic: pair.is_shared for pair in plan_topics({"x": 1, "z": 1}, {}, chosen).pairs}
    assert shared == {"x": True, "z": False}


def test_heartbeats_are_not_merged_with_records_but_renamed_where_they_are_named() -> None:
    chosen = selector("topics.map=.*:all\n")
    assert chosen.remote_name("heartbeats") == "a.heartbeats" and not chosen.is_shared("heartbeats")
    assert selector("topics.map=heartbeats:beats\n").remote_name("heartbeats") == "beats"


@pytest.mark.parametrize("wrong", ["x:", ":y", "x", "(:y", "x:$1", "x:a b", "x:.", "x:" + "y" * 250])
def test_a_rename_that_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"topics\.map"):
        selector(f"topics.map={wrong}\n")
