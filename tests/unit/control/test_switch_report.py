"""What a failover counts as missing, when waiting helps, and what becomes of each group's place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkmirror.control.copy_proof import Proof
from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import Bounds, PartitionRow, TopicRow
from sparkmirror.control.switch_report import (
    ACTIVE,
    AHEAD,
    IN_PLACE,
    SHORT,
    TO_MOVE,
    UNKNOWN,
    MissingRow,
    MoveRow,
    Report,
    find_alone,
    find_members,
    find_missing,
    judge_moves,
    known_lag,
    may_shrink,
)
from sparkmirror.copy.facts import OTHERS_WROTE
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

IDLE, BUSY = GroupState("Empty"), GroupState("Stable", members=2)
GAP = Fact(kind="stopped", name="gap", error="offsets 1..2 are gone")


def row(
    partition: int, lag: int | None, *, behind: int = 0, topic: str = "t", fact: Fact | None = None
) -> PartitionRow:
    bounds = Bounds(0, 100, 100 + behind, 0, 100 - (lag or 0))
    state = "stopped" if fact else "copying"
    return PartitionRow(
        topic=topic, partition=partition, target_topic=f"A.{topic}", bounds=bounds, lag=lag, state=state, fact=fact
    )


def survey(*rows: PartitionRow) -> FlowSurvey:
    return FlowSurvey(flow="A->B", running=True, partitions=rows)


def test_missing_is_what_a_consumer_of_the_target_would_not_see() -> None:
    found = find_missing(
        survey(row(0, 0), row(1, 5, fact=GAP), row(2, None), row(3, 0, behind=4), row(4, 9, topic="heartbeats")),
        {},
        committed=True,
    )
    assert found == (
        MissingRow(topic="t", partition=1, records=5, why="gap: offsets 1..2 are gone", stands=True),
        MissingRow(topic="t", partition=2, records=None, why="a leader does not answer"),
        MissingRow(topic="t", partition=3, records=4, why="a transaction is open"),
    )
    assert find_missing(survey(row(3, 0, behind=4)), {}, committed=False) == ()


def proof(*, lag: int | None = 0, why: str = "", passes: bool = False, others: int = 0) -> Proof:
    standing = None if lag is None else Standing(100 - lag, 1, 100 - lag)
    return Proof(remote=("A.t", 0), standing=standing, why=why, passes=passes, lag=lag, others=others)


@pytest.mark.parametrize(
    ("fact", "found", "expected"),
    [
        (None, proof(), None),
        (GAP, proof(), (0, GAP.said, True)),
        (GAP, None, (0, GAP.said, True)),
        (None, proof(lag=7), (7, "", False)),
        (None, proof(lag=7, why="foreign-writer: x"), (7, "foreign-writer: x", True)),
        (None, proof(lag=None, why="diverged: x"), (None, "diverged: x", True)),
        (None, proof(lag=None, why="followers are behind", passes=True), (None, "followers are behind", False)),
        (Fact(kind="noted", name="record-skipped", error="x"), proof(), (None, "record-skipped: x", True)),
        (Fact(kind="noted", name="gap", error="x"), proof(), None),
        (Fact(kind="waiting", error="x"), proof(), None),
    ],
)
def test_logs_of_one_length_prove_nothing(
    fact: Fact | None, found: Proof | None, expected: tuple[int | None, str, bool] | None
) -> None:
    """What stands still, was not compared or lacks a record is named where lag is 0 by the numbers."""
    state = "stopped" if fact and fact.kind == "stopped" else "copied"
    rows = survey(replace(row(0, 0, fact=fact), state=state))
    missing = find_missing(rows, {("t", 0): found} if found else {}, committed=True)
    assert [(m.records, m.why, m.stands) for m in missing] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("fact", "found", "expected"),
    [
        (None, proof(lag=20), None),
        (GAP, proof(), None),
        (None, proof(others=3), (3, "they stand on B alone, and nothing brings them to A")),
        (Fact(kind="noted", name="foreign-writer", error="x"), proof(), (None, "records stand on B alone (foreign-wr")),
        (None, replace(proof(), standing=Standing(9, translated=f"{OTHERS_WROTE} from 9 on")), (None, "records stand")),
        (None, replace(proof(), standing=Standing(9, translated="offsets.preserve is never")), None),
        (None, proof(lag=None, why="diverged: x"), (None, "diverged: x")),
    ],
)
def test_what_stands_on_the_target_alone_is_missing_on_the_way_back(
    fact: Fact | None, found: Proof, expected: tuple[int | None, str] | None
) -> None:
    """What the source alone has is none of it: consumers that go back find it there."""
    missing = find_alone(survey(row(0, 0, fact=fact)), {("t", 0): found}, ("A", "B"))
    assert [(m.topic, m.records) for m in missing] == ([("A.t", expected[0])] if expected else [])
    assert not expected or missing[0].why.startswith(expected[1])


def test_a_cluster_that_is_away_and_a_topic_that_is_hidden_are_missing_too() -> None:
    assert find_missing(FlowSurvey(flow="A->B", problem="away"), {}, committed=True)[0].why == "away"
    hidden = FlowSurvey(flow="A->B", topics=(TopicRow(topic="t", target_topic="", fact=GAP),))
    assert find_missing(hidden, {}, committed=True) == (
        MissingRow(topic="t", partition=-1, records=None, why="gap: offsets 1..2 are gone", stands=True),
    )


def test_waiting_helps_only_while_somebody_copies_what_is_missing() -> None:
    going, still = MissingRow(topic="t", partition=0, records=5), MissingRow(topic="t", partition=1, records=3)
    rows = (going, replace(still, stands=True))
    assert may_shrink(survey(), rows)
    assert not may_shrink(survey(), rows[1:])
    assert not may_shrink(replace(survey(), running=False), rows)
    assert not may_shrink(replace(survey(), halt=Halt(1, "b", "w", 0)), rows)


def move(wanted: int | None, partition: int = 0, *, is_short: bool = False) -> MoveRow:
    return MoveRow(
        group="g",
        topic="t",
        partition=partition,
        offset=50,
        target_topic="A.t",
        target_partition=partition,
        wanted=wanted,
        is_short=is_short,
    )


@pytest.mark.parametrize(
    ("there", "state", "synced", "becomes", "commits"),
    [
        (None, IDLE, None, TO_MOVE, True),
        (40, IDLE, None, TO_MOVE, True),
        (50, IDLE, None, IN_PLACE, False),
        (50, BUSY, None, IN_PLACE, False),
        (60, IDLE, None, AHEAD, False),
        (60, BUSY, None, AHEAD, False),
        (60, IDLE, (60, 60), TO_MOVE, True),  # reset at the source since
        (60, IDLE, (50, 50), AHEAD, False),  # it has read on there
        (60, IDLE, (55, 55), AHEAD, False),  # both
        (60, IDLE, (), AHEAD, False),  # nothing tells whose offset it is
        (40, BUSY, None, ACTIVE, False),
        (None, BUSY, (), ACTIVE, False),
    ],
)
def test_a_group_goes_to_its_place_forward_and_only_without_members_there(
    there: int | None, state: GroupState, synced: tuple[int, int] | tuple[()] | None, becomes: str, commits: bool
) -> None:
    """`synced`: the last checkpoint's offsets, if groups may go back; empty: there is none."""
    known = {} if there is None else {("A.t", 0): there}
    checkpoints = {("A.t", 0): Checkpoint("g", "A.t", 0, *synced)} if synced else {}
    (judged,) = judge_moves([move(50)], known, state, "B", synced=checkpoints, rewind=synced is not None)
    assert (judged.state, judged.needs_commit, judged.before) == (becomes, commits, there)
    if becomes == ACTIVE:
        assert judged.why == "it has 2 members on B: stop them and run it again"


def test_who_has_read_more_than_is_there_goes_to_the_end_and_is_told() -> None:
    short, unknown = judge_moves(
        [move(45, is_short=True), replace(move(None, 1), why="because")], {}, IDLE, "B", synced={}
    )
    assert (short.state, short.needs_commit) == (SHORT, True)
    assert (unknown.state, unknown.why, unknown.needs_commit) == (UNKNOWN, "because", False)
    (again,) = judge_moves([move(45, is_short=True)], {("A.t", 0): 45}, IDLE, "B", synced={})
    assert (again.state, again.needs_commit) == (SHORT, False)


def test_who_has_read_on_there_and_here_more_than_is_known_may_read_some_again_and_is_told() -> None:
    (judged,) = judge_moves([move(45, is_short=True)], {("A.t", 0): 46}, IDLE, "B", synced={})
    assert (judged.state, judged.needs_commit) == (AHEAD, False) and "come again" in judged.why
    report = Report(verb="failback", flow="A->B", dry_run=False, moves=(judged,))
    assert not report.is_whole and replace(report, moves=(replace(judged, is_short=False),)).is_whole


def test_who_was_put_where_the_source_begins_is_not_moved_over_what_it_has_not_read() -> None:
    """By a failback, which has left a checkpoint that says so, or by the flow back."""
    row = replace(move(50), at_start=True)

    def judge(there: int, upstream: int, *, has_way_back: bool = False) -> MoveRow:
        put = {("A.t", 0): Checkpoint("g", "A.t", 0, upstream, 40)}
        (judged,) = judge_moves([row], {("A.t", 0): there}, IDLE, "B", synced=put, has_way_back=has_way_back)
        return judged

    unread = judge(40, row.offset)
    assert (unread.state, unread.needs_commit) == (UNKNOWN, False) and "may not have read" in unread.why
    assert judge(40, row.offset - 1).state == TO_MOVE
    assert judge(50, row.offset).state == IN_PLACE
    assert [judge(at, 0, has_way_back=True).state for at in (40, 50)] == [UNKNOWN, IN_PLACE]


def test_whole_is_what_lacks_nothing() -> None:
    whole = Report(verb="failover", flow="A->B", dry_run=False, moves=(replace(move(50), state=IN_PLACE),))
    assert whole.is_whole
    assert not replace(whole, problem="x").is_whole
    assert not replace(whole, away="x").is_whole, "nobody knows what was written there since"
    assert not replace(whole, not_moved={"g": "x"}).is_whole
    assert not replace(whole, moves=(move(50),)).is_whole
    members = find_members({"g": GroupState("Stable", members=1), "h": IDLE}, "A")
    assert list(members) == ["g"] and members["g"].startswith("it still has 1 member on A,")
    assert not replace(whole, still_there=members).is_whole


def test_the_last_known_lag() -> None:
    assert known_lag(None, {}) == () == known_lag(Seen(1), {})
    named, stopped, more = known_lag(Seen(1, {("t", 0): 12}, 30), {("t", 1): GAP})
    assert (named.topic, named.partition, named.records) == ("t", 0, 12)
    assert (stopped.partition, stopped.records, stopped.why) == (1, None, GAP.said)
    assert (more.records, more.why) == (30, "of other partitions")
