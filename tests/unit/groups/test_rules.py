"""Which checkpoints are emitted and which offsets are committed: MirrorMaker 2's cases, and ours."""

from __future__ import annotations

from sparkmirror.groups.rules import UNREAD, CommitPlan, Moved, plan_checkpoints, plan_commits
from sparkmirror.offsets.checkpoints import Checkpoint

T0, T1 = ("a.t", 0), ("a.t", 1)


def checkpoint(upstream: int, downstream: int) -> dict[tuple[str, int], Checkpoint]:
    return {T0: Checkpoint("g", "a.t", 0, upstream, downstream)}


def test_a_first_checkpoint_and_every_step_forward_are_emitted() -> None:
    assert plan_checkpoints({}, {T0: Moved(0, 0)}) == {T0: Moved(0, 0)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(11, 11)}) == {T0: Moved(11, 11)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(10, 10)}) == {}


def test_checkpoints_go_back_with_the_group_and_with_the_target() -> None:
    """Not as MirrorCheckpointTaskTest.testCheckpointRecordsMonotonicIfStoreRewinds: there a lower offset is a worse
    one, here it is that of a log that was made anew."""
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(12, 7)}) == {T0: Moved(12, 7)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(8, 8)}) == {T0: Moved(8, 8)}
    assert plan_checkpoints(checkpoint(10, 10), {T0: Moved(12, 10)}) == {}, "over a hole"


def test_checkpoints_are_emitted_again_before_they_expire() -> None:
    before = {T0: checkpoint(10, 10)[T0]._replace(written_ms=5000)}
    assert plan_checkpoints(before, {T0: Moved(10, 10)}, 5000) == {}
    assert plan_checkpoints(before, {T0: Moved(10, 10)}, 5001) == {T0: Moved(10, 10)}


def test_an_idle_group_moves_forward_and_what_it_has_not_is_written() -> None:
    """MirrorCheckpointTaskTest.testSyncOffset, ...ForTargetGroupWithNullOffsetAndMetadata."""
    wanted = {T0: Moved(20, 20), T1: Moved(5, 5)}
    for state in ("Empty", "Dead"):
        assert plan_commits(state, 0, {T0: 10}, wanted, rewind=False, synced={}).commits == wanted
    assert plan_commits("Empty", 0, {T0: 10, T1: -1}, wanted, rewind=False, synced={}).commits == wanted
    assert plan_commits("Empty", 0, {T0: 20, T1: 5}, wanted, rewind=False, synced={}) == CommitPlan({})


def test_who_has_members_is_left_alone_and_says_so() -> None:
    plan = plan_commits("Stable", 3, {}, {T0: Moved(20, 20)}, rewind=True, synced={})
    assert plan == CommitPlan({}, "the group is Stable on the target, with 3 members")
    assert plan_commits("Stable", 3, {T0: 20}, {T0: Moved(20, 20)}, rewind=True, synced={}) == CommitPlan({})


def test_who_is_further_on_the_target_stays_there_unless_he_shall_not() -> None:
    wanted = {T0: Moved(20, 20), T1: Moved(30, 30)}
    plan = plan_commits("Empty", 0, {T0: 25, T1: 10}, wanted, rewind=False, synced={})
    assert plan == CommitPlan({T1: Moved(30, 30)}, "it is further on the target in a.t-0")
    assert plan_commits("Empty", 0, {T0: 25, T1: 10}, wanted, rewind=True, synced=checkpoint(25, 25)) == CommitPlan(
        wanted
    )


def test_only_who_was_reset_at_the_source_and_not_used_since_goes_back() -> None:
    wanted = {T0: Moved(20, 20)}

    def goes_back(there: int, upstream: int, downstream: int) -> bool:
        plan = plan_commits("Empty", 0, {T0: there}, wanted, rewind=True, synced=checkpoint(upstream, downstream))
        assert (plan.why == "") == (plan.commits == wanted)
        return bool(plan.commits)

    assert goes_back(25, 25, 25)
    assert not goes_back(30, 25, 25), "it has read on there"
    assert not goes_back(25, 20, 20), "it is where it was at the source"
    assert not goes_back(25, 15, 25), "it went on at the source: another log is the reason"
    assert plan_commits("Empty", 0, {T0: 25}, wanted, rewind=True, synced={}).why, "nothing tells whose offset it is"


def test_who_was_put_where_the_source_begins_is_not_taken_over_what_only_the_source_has_lost() -> None:
    """It stood at 4 on the target, and the flow back or a failback has put it at 5, where the source begins."""
    put = Moved(5, 5, at_start=True)
    wanted = {T0: put, T1: Moved(20, 20)}
    stays = CommitPlan({T1: Moved(20, 20)}, f"{UNREAD} (in a.t-0)", frozenset({T0}))
    assert plan_commits("Empty", 0, {T0: 4, T1: 10}, wanted, rewind=False, synced={}, has_way_back=True) == stays
    assert plan_commits("Empty", 0, {T0: 4, T1: 10}, wanted, rewind=False, synced=checkpoint(5, 4)) == stays
    assert plan_checkpoints(checkpoint(5, 4), {T0: put}) == {}
    goes = CommitPlan({T0: put})
    assert plan_commits("Empty", 0, {T0: 4}, {T0: put}, rewind=False, synced=checkpoint(4, 4)) == goes, "it has read 4"
    assert plan_commits("Empty", 0, {}, {T0: put}, rewind=False, synced={}, has_way_back=True) == goes, "nowhere else"
    assert plan_checkpoints(checkpoint(4, 4), {T0: put}) == {T0: put}
    assert plan_checkpoints(checkpoint(4, 4), {T0: put}, has_way_back=True) == {}
    nothing = CommitPlan({})
    assert plan_commits("Empty", 0, {T0: 5}, {T0: put}, rewind=False, synced={}, has_way_back=True) == nothing
