"""What topics are called on the other side, for groups that read them."""

from __future__ import annotations

from sparkmirror.groups.names import Names
from sparkmirror.topology.policy import DefaultReplicationPolicy
from sparkmirror.topology.select import TopicPair


def test_mirrored_topics_get_their_remote_names_and_others_their_own_back() -> None:
    """MirrorCheckpointTaskTest.testDownstreamTopicRenaming; but `b.c.t` of b is b's `c.t`, which it has."""
    pairs = [
        TopicPair(topic="t", remote="a.t", partitions=3, present=3, is_shared=False),
        TopicPair(topic="x", remote="all", partitions=5, present=2, is_shared=True),
        TopicPair(topic="late", remote="a.late", partitions=1, present=0, is_shared=False),
    ]
    here = ["t", "x", "b.t", "b.c.t", "c.t", "b.checkpoints.internal"]
    names = Names.of(pairs, here, DefaultReplicationPolicy(aliases=("a", "b", "c")), "b", shares_target=False)
    assert names.target_place(("t", 2)) == ("a.t", 2)
    assert names.target_place(("x", 3)) == ("all", 1)
    assert names.target_place(("b.t", 1)) == ("t", 1)
    assert names.target_place(("b.c.t", 0)) == ("c.t", 0)
    for topic in ("late", "c.t", "other", "b.checkpoints.internal"):
        assert names.target_place((topic, 0)) is None
