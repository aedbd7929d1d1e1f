"""Names across clusters, as MirrorMaker 2's DefaultReplicationPolicy forms and reads them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.errors import ConfigError
from sparkmirror.topology.policy import DefaultReplicationPolicy, ReplicationPolicy

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
