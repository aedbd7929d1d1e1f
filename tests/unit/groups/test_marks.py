"""When each group was last dealt with: the age is that of the last round that did, not of the last checkpoint."""

from __future__ import annotations

import itertools

from sparkmirror.groups.marks import Round, mark_round, plan_marks
from sparkmirror.groups.task import GroupReport
from sparkmirror.offsets.group_marks import (
    Deed,
    GroupMark,
    LastRounds,
    Marks,
    encode_group,
    encode_rounds,
    note_record,
)

SHARE = {"s": "share groups are not supported"}


def rounds(*reports: GroupReport, sync: bool = True) -> Marks:
    """Rounds of one group at 1, 2, 3.. seconds."""
    marks = Marks()
    for second, report in enumerate(reports, start=1):
        marks = mark_round(marks, Round(True, sync, second * 1000, 0.1), [report], {})
    return marks


WELL = GroupReport("g", mirrored=1)
NEW = GroupReport("new", mirrored=1)
ACTIVE = GroupReport("g", mirrored=1, unsynced="it reads there")
UNKNOWN = GroupReport("g", unknown="nothing of it was mirrored yet")


def test_a_group_that_does_not_move_is_as_young_as_the_last_round() -> None:
    marks = rounds(WELL, WELL, WELL)
    assert (marks.checkpointed_ms("g"), marks.synced_ms("g")) == (3000, 3000)


def test_its_age_grows_from_the_last_round_that_could_deal_with_it() -> None:
    marks = rounds(WELL, WELL, ACTIVE, ACTIVE)
    assert (marks.checkpointed_ms("g"), marks.synced_ms("g")) == (4000, 2000)
    assert marks.groups["g"].why == "it reads there"
    back = mark_round(marks, Round(True, True, 5000, 0.1), [WELL], {})
    assert (back.synced_ms("g"), back.groups["g"].why) == (5000, "")


def test_what_was_never_done_has_no_age() -> None:
    marks = rounds(UNKNOWN, UNKNOWN)
    assert (marks.checkpointed_ms("g"), marks.synced_ms("g")) == (0, 0)
    assert marks.groups["g"].why == "nothing of it was mirrored yet", "it is said once"
    assert rounds(WELL, sync=False).synced_ms("g") == 0
    both = rounds(UNKNOWN._replace(unkept="no checkpoint", unsynced="it reads there"))
    assert both.groups["g"].why == "nothing of it was mirrored yet; no checkpoint; it reads there"


def test_a_round_that_only_commits_says_nothing_of_checkpoints() -> None:
    marks = mark_round(rounds(WELL), Round(False, True, 9000, 0.1), [ACTIVE], {})
    assert marks.rounds == LastRounds(1000, 9000, 0.1)
    assert (marks.checkpointed_ms("g"), marks.synced_ms("g")) == (1000, 1000)


def test_only_news_is_written_and_who_is_gone_is_forgotten() -> None:
    """MirrorCheckpointConnectorTest.testFindConsumerGroups: who reads no mirrored topic is not the flow's."""
    one = rounds(WELL)
    two = mark_round(one, Round(True, True, 2000, 0.1), [WELL, NEW, GroupReport("of-other-topics")], SHARE)
    assert plan_marks(one, two) == {
        "new": GroupMark(Deed(2000), Deed(2000)),
        "s": GroupMark(Deed(0, SHARE["s"]), Deed(0, SHARE["s"])),
    }
    three = mark_round(two, Round(True, True, 3000, 0.1), [NEW], SHARE)
    assert plan_marks(two, three) == {"g": None}
    assert plan_marks(three, mark_round(three, Round(True, True, 4000, 0.1), [NEW], SHARE)) == {}


def test_records_say_the_same_in_any_order_of_rounds_and_groups() -> None:
    """What crashes between two appends is at most one round too old, never too young."""
    marks = rounds(WELL, WELL, ACTIVE)
    records = [encode_rounds("a", marks.rounds), *(encode_group("a", g, mark) for g, mark in marks.groups.items())]
    for order in itertools.permutations(records):
        found = Marks()
        for key, value in order:
            note_record(found, "a", key, value)
        assert found == marks
    other = Marks()
    for key, value in (*records, (b"status-connector-x", b"{}"), (b"[[", b"{}"), (records[1][0], b'{"sync":3}')):
        note_record(other, "b", key, value)
    assert other == Marks(), "of another flow"
    note_record(found, "a", *encode_group("a", "g", None))
    assert found.groups == {}


def test_it_is_kept_in_which_topics_a_group_stood_and_for_which_it_ever_had_a_place() -> None:
    """A group has no place in a topic that was made anew, and its checkpoint is one of the old topic."""
    first = WELL._replace(topics=(("t", "1"), ("u", "2")), remotes=(("a.t", "7", (0,)), ("a.u", "8", (0, 1))))
    later = WELL._replace(topics=(("u", "3"),), remotes=(("a.u", "9", (1,)),))
    mark = rounds(first, later).groups["g"]
    nowhere = GroupReport("g", unknown="it has committed nothing of t-0", topics=(("t", "4"),))
    assert rounds(first, nowhere).groups["g"].topics == (("t", "4"),)
    assert dict(mark.topics) == {"u": "3"} and mark.remotes == (
        ("a.t", "7", (0,)),
        ("a.u", "8", (0,)),
        ("a.u", "9", (1,)),
    )
    found = Marks()
    note_record(found, "a", *encode_group("a", "g", mark))
    assert found.groups == {"g": mark}
