"""Names across clusters, as MirrorMaker 2's DefaultReplicationPolicy forms and reads them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.errors import ConfigError
from sparkmirror.topology.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    InternalNames,
    ReplicationPolicy,
    count_hops,
    upstream_clusters,
)

POLICY: ReplicationPolicy = DefaultReplicationPolicy()
UNDERSCORE: ReplicationPolicy = DefaultReplicationPolicy(separator="_")


@pytest.mark.parametrize(
    ("topic", "source", "upstream", "original"),
    [
        ("t", None, None, "t"),
        ("a.t", "a", "t", "t"),
        ("a.b.t", "a", "b.t", "t"),
        ("a.", None, None, "a."),
        ("a..", None, None, "a.."),
        (".", None, None, "."),
        ("", None, None, ""),
        ("a..t", "a", ".t", "t"),
        (".t", "", "t", "t"),
    ],
)
def test_a_name_is_split_as_java_splits(topic: str, source: str | None, upstream: str | None, original: str) -> None:
    assert POLICY.topic_source(topic) == source
    assert POLICY.upstream_topic(topic) == upstream
    assert POLICY.original_topic(topic) == original


def test_another_separator_is_used_for_every_name() -> None:
    assert UNDERSCORE.format_remote_topic("a", "topic") == "a_topic"
    assert UNDERSCORE.topic_source("_t") == ""
    assert UNDERSCORE.topic_source("a.t") is None
    assert UNDERSCORE.offset_syncs_topic("b") == "mm2-offset-syncs_b_internal"
    assert UNDERSCORE.checkpoints_topic("a") == "a_checkpoints_internal"
    assert UNDERSCORE.heartbeats_topic() == "heartbeats"


def test_internal_names() -> None:
    assert POLICY.offset_syncs_topic("b") == "mm2-offset-syncs.b.internal"
    assert POLICY.checkpoints_topic("a") == "a.checkpoints.internal"


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("mm2-offsets.a.internal", True),
        ("mm2-offset-syncs.b.internal", True),
        ("a.checkpoints.internal", True),
        ("__consumer_offsets", True),
        (".hidden", True),
        ("my.internal", False),
        ("mm2-internal", False),
        ("heartbeats", False),
        ("orders", False),
    ],
)
def test_which_topics_are_internal(topic: str, internal: bool) -> None:
    assert POLICY.is_internal_topic(topic) is internal


def test_heartbeats_are_known_through_any_number_of_hops() -> None:
    assert [POLICY.is_heartbeats_topic(t) for t in ("heartbeats", "a.heartbeats", "a.b.heartbeats")] == [True] * 3
    assert not POLICY.is_heartbeats_topic("heartbeats.a")


def test_checkpoints_are_known_by_their_suffix() -> None:
    assert POLICY.is_checkpoints_topic("a.checkpoints.internal")
    assert not POLICY.is_checkpoints_topic("a.checkpoints")


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"replication\.policy\.separator"):
        DefaultReplicationPolicy(separator="")


def test_a_policy_travels_by_pickle() -> None:
    assert pickle.loads(pickle.dumps(POLICY)) == POLICY


names = st.from_regex(r"[a-z0-9_-]{1,10}", fullmatch=True)


@given(source=names, topic=st.from_regex(r"[a-z][a-z.]{0,8}[a-z]", fullmatch=True))
def test_a_remote_name_tells_where_it_came_from(source: str, topic: str) -> None:
    remote = POLICY.format_remote_topic(source, topic)
    assert POLICY.topic_source(remote) == source
    assert POLICY.upstream_topic(remote) == topic


DASH: ReplicationPolicy = DefaultReplicationPolicy(separator="-", aliases=("cluster-1", "cluster-2", "cluster"))


def test_an_alias_may_hold_the_separator_and_the_longest_counts() -> None:
    assert DASH.topic_source("cluster-1-orders") == "cluster-1"
    assert DASH.upstream_topic("cluster-1-orders") == "orders"
    assert DASH.topic_source("cluster-orders") == "cluster"
    assert DASH.original_topic("cluster-2-cluster-1-orders") == "orders"
    assert DASH.topic_source("cluster-1-") == "cluster"  # `cluster-1` of `cluster`, as no topic has an empty name


def test_a_cluster_that_the_file_does_not_name_is_a_hop_all_the_same() -> None:
    policy = DefaultReplicationPolicy(aliases=("b", "c"))
    assert policy.topic_source("a.orders") == "a"
    assert policy.is_heartbeats_topic("a.heartbeats")


def test_internal_topics_can_keep_the_dot() -> None:
    kept = DefaultReplicationPolicy(separator="_", internal=InternalNames(separator="."))
    assert kept.format_remote_topic("a", "t") == "a_t"
    assert kept.offset_syncs_topic("b") == "mm2-offset-syncs.b.internal"
    assert kept.checkpoints_topic("a") == "a.checkpoints.internal"
    assert kept.is_checkpoints_topic("a.checkpoints.internal") and not kept.is_checkpoints_topic(
        "a_checkpoints_internal"
    )
    assert kept.heartbeats_topic() == "heartbeats"


def test_progress_and_claims_are_internal_whatever_the_separator_is() -> None:
    assert UNDERSCORE.is_internal_topic("mm2-claims.a.internal")
    assert UNDERSCORE.is_internal_topic("mm2-offset-syncs_b_internal")
    assert not UNDERSCORE.is_internal_topic("my_internal")


IDENTITY = IdentityReplicationPolicy(source="a", aliases=("a", "b"))


def test_identity_keeps_names_but_those_of_heartbeats() -> None:
    assert IDENTITY.format_remote_topic("a", "orders") == "orders"
    assert IDENTITY.topic_source("orders") == "a"
    assert IDENTITY.upstream_topic("orders") == "orders"
    assert IDENTITY.original_topic("b.orders") == "b.orders"
    assert IDENTITY.format_remote_topic("a", "heartbeats") == "a.heartbeats"
    assert IDENTITY.topic_source("a.heartbeats") == "a"
    assert IDENTITY.topic_source("heartbeats") is None
    assert IDENTITY.upstream_topic("b.a.heartbeats") == "a.heartbeats"
    assert IDENTITY.is_heartbeats_topic("b.a.heartbeats")
    assert IdentityReplicationPolicy().topic_source("orders") is None


@pytest.mark.parametrize("policy", [POLICY, IDENTITY])
def test_hops_are_counted_by_the_heartbeats_that_came(policy: ReplicationPolicy) -> None:
    topics = ["heartbeats", "b.heartbeats", "b.a.heartbeats", "c.b.a.heartbeats", "a.orders"]
    assert count_hops(policy, topics, "b") == 1
    assert count_hops(policy, topics, "a") == 2
    assert count_hops(policy, [*topics, "a.heartbeats"], "a") == 1
    assert count_hops(policy, topics, "d") == -1
    assert count_hops(policy, ["heartbeats", "a.orders"], "a") == -1


@pytest.mark.parametrize("policy", [POLICY, IDENTITY])
def test_upstream_clusters_are_those_that_heartbeats_passed(policy: ReplicationPolicy) -> None:
    topics = ["heartbeats", "b.heartbeats", "c.b.heartbeats", "c.a.heartbeats", "d.orders", "e.checkpoints.internal"]
    assert upstream_clusters(policy, topics) == {"a", "b", "c"}
    assert upstream_clusters(policy, ["heartbeats"]) == set()


def test_a_way_that_goes_round_ends_there() -> None:
    round_trip = ["b.c.b.a.heartbeats"]
    assert (count_hops(POLICY, round_trip, "c"), count_hops(POLICY, round_trip, "a")) == (2, -1)
    assert upstream_clusters(POLICY, round_trip) == {"b", "c"}


@given(
    st.lists(st.sampled_from(["a", "a-b", "b", "a-b-c"]), min_size=1, max_size=4),
    st.from_regex(r"[d-z][d-z-]{0,6}[d-z]", fullmatch=True),
)
def test_the_way_back_is_the_way_that_was_taken(way: list[str], topic: str) -> None:
    """Where no alias begins as another one continues, whatever the separator."""
    policy = DefaultReplicationPolicy(separator="/", aliases=("a", "a-b", "b", "a-b-c"))
    remote = topic
    for alias in way:
        remote = policy.format_remote_topic(alias, remote)
    assert policy.original_topic(remote) == topic
    for alias in reversed(way):
        assert policy.topic_source(remote) == alias
        remote = policy.upstream_topic(remote) or ""
    assert remote == topic
