"""What a failover counts as missing, when waiting helps, and what becomes of each group's place."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
    find_members,
    find_missing,
    judge_moves,
    known_lag,
    may_shrink,
)
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.fact import Fact

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
        committed=True,
    )
    assert found == (
        MissingRow(topic="t", partition=1, records=5, why="gap: offsets 1..2 are gone"),
        MissingRow(topic="t", partition=2, records=None, why="a leader does not answer"),
        MissingRow(topic="t", partition=3, records=4, why="a transaction is open"),
    )
    assert find_missing(survey(row(3, 0, behind=4)), committed=False) == ()


def test_a_cluster_that_is_away_and_a_topic_that_is_hidden_are_missing_too() -> None:
    assert find_missing(FlowSurvey(flow="A->B", problem="away"), committed=True)[0].why == "away"
    hidden = FlowSurvey(flow="A->B", topics=(TopicRow(topic="t", target_topic="", fact=GAP),))
    assert find_missing(hidden, committed=True) == (
        MissingRow(topic="t", partition=-1, records=None, why="gap: offsets 1..2 are gone"),
    )


def test_waiting_helps_only_while_somebody_copies_what_is_missing() -> None:
    going = survey(row(0, 5), row(1, 3, fact=GAP))
    assert may_shrink(going)
    assert not may_shrink(survey(row(0, 0), row(1, 3, fact=GAP)))
    assert not may_shrink(replace(going, running=False))
    assert not may_shrink(replace(going, halt=Halt(1, "b", "w", 0)))


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
    ("there", "state", "rewind", "becomes", "commits"),
    [
        (None, IDLE, False, TO_MOVE, True),
        (40, IDLE, False, TO_MOVE, True),
        (50, IDLE, False, IN_PLACE, False),
        (50, BUSY, False, IN_PLACE, False),
        (60, IDLE, False, AHEAD, False),
        (60, BUSY, False, AHEAD, False),
        (60, IDLE, True, TO_MOVE, True),
        (40, BUSY, False, ACTIVE, False),
        (None, BUSY, True, ACTIVE, False),
    ],
)
def test_a_group_goes_to_its_place_forward_and_only_without_members_there(
    there: int | None, state: GroupState, rewind: bool, becomes: str, commits: bool
) -> None:
    known = {} if there is None else {("A.t", 0): there}
    (judged,) = judge_moves([move(50)], known, state, "B", rewind=rewind)
    assert (judged.state, judged.needs_commit, judged.before) == (becomes, commits, there)
    if becomes == ACTIVE:
        assert judged.why == "it has 2 members on B: stop them and run it again"


def test_who_has_read_more_than_is_there_goes_to_the_end_and_is_told() -> None:
    short, unknown = judge_moves(
        [move(45, is_short=True), replace(move(None, 1), why="because")], {}, IDLE, "B", rewind=False
    )
    assert (short.state, short.needs_commit) == (SHORT, True)
    assert (unknown.state, unknown.why, unknown.needs_commit) == (UNKNOWN, "because", False)
    (again,) = judge_moves([move(45, is_short=True)], {("A.t", 0): 45}, IDLE, "B", rewind=False)
    assert (again.state, again.needs_commit) == (SHORT, False)


def test_whole_is_what_lacks_nothing() -> None:
    whole = Report(verb="failover", flow="A->B", dry_run=False, moves=(replace(move(50), state=IN_PLACE),))
    assert whole.is_whole
    assert not replace(whole, problem="x").is_whole
    assert not replace(whole, not_moved={"g": "x"}).is_whole
    assert not replace(whole, moves=(move(50),)).is_whole
    members = find_members({"g": GroupState("Stable", members=1), "h": IDLE}, "A")
    assert list(members) == ["g"] and members["g"].startswith("it still has 1 member on A,")
    assert not replace(whole, still_there=members).is_whole


def test_the_last_known_lag() -> None:
    assert known_lag(None) == () == known_lag(Seen(1))
    named, more = known_lag(Seen(1, {("t", 0): 12}, 30))
    assert (named.topic, named.partition, named.records) == ("t", 0, 12)
    assert (more.records, more.why) == (30, "of other partitions")
