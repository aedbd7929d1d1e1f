"""Which checkpoints are emitted and which offsets are committed: MirrorMaker 2's cases, and ours."""

from __future__ import annotations

from sparkmirror.groups.rules import Moved, plan_checkpoints, plan_commits
from sparkmirror.offsets.checkpoints import Checkpoint

T0, T1 = ("a.t", 0), ("a.t", 1)


def checkpoint(upstream: int, downstream: int) -> dict[tuple[str, int], Checkpoint]:
    return {T0: Checkpoint("g", "a.t", 0, upstream, downstream)}


def test_a_first_checkpoint_and_every_step_forward_are_emitted() -> None:
    assert plan_checkpoints({}, {T0: Moved(0, 0)}) == {T0: Moved(0, 0)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(11, 11)}) == {T0: Moved(11, 11)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(10, 10)}) == {}


def test_checkpoints_go_back_only_with_the_group() -> None:
    """MirrorCheckpointTaskTest.testCheckpointRecordsMonotonicIfStoreRewinds."""
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(12, 7)}) == {}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(8, 8)}) == {T0: Moved(8, 8)}


def test_an_idle_group_moves_forward_and_what_it_has_not_is_written() -> None:
    """MirrorCheckpointTaskTest.testSyncOffset, ...ForTargetGroupWithNullOffsetAndMetadata."""
    wanted = {T0: Moved(20, 20), T1: Moved(5, 5)}
    for state in ("Empty", "Dead"):
        assert plan_commits(state, 0, {T0: 10}, wanted, rewind=False).commits == wanted
    assert plan_commits("Empty", 0, {T0: 10, T1: -1}, wanted, rewind=False).commits == wanted
    assert plan_commits("Empty", 0, {T0: 20, T1: 5}, wanted, rewind=False) == ({}, "")


def test_who_has_members_is_left_alone_and_says_so() -> None:
    plan = plan_commits("Stable", 3, {}, {T0: Moved(20, 20)}, rewind=True)
    assert plan == ({}, "the group is Stable on the target, with 3 members")
    assert plan_commits("Stable", 3, {T0: 20}, {T0: Moved(20, 20)}, rewind=True) == ({}, "")


def test_who_is_further_on_the_target_stays_there_unless_he_shall_not() -> None:
    wanted = {T0: Moved(20, 20), T1: Moved(30, 30)}
    plan = plan_commits("Empty", 0, {T0: 25, T1: 10}, wanted, rewind=False)
    assert plan == ({T1: Moved(30, 30)}, "it is further on the target in a.t-0")
    assert plan_commits("Empty", 0, {T0: 25, T1: 10}, wanted, rewind=True) == (wanted, "")
