"""Where a group goes on in a topic that several are merged into: only where all of them are told."""

from __future__ import annotations

from dataclasses import replace

from sparkmirror.control.switch_groups import join_places
from sparkmirror.control.switch_report import MoveRow

ALL = ("all", 0)
ROW = MoveRow(group="g", topic="x", partition=0, offset=5, target_topic="all", target_partition=0, wanted=50)
OTHER = replace(ROW, topic="y", wanted=70)
ORIGINS = {ALL: {("x", 0), ("y", 0)}}


def test_from_the_first_of_all_places_on_nothing_is_missed() -> None:
    assert [row.wanted for row in join_places([ROW, OTHER], ORIGINS)] == [50, 50]


def test_of_a_place_that_is_not_told_anything_could_be_missed() -> None:
    unknown = replace(OTHER, wanted=None, why="nothing of it was mirrored yet")
    first, second = join_places([ROW, unknown], ORIGINS)
    assert (first.wanted, first.why) == (None, "of y-0: nothing of it was mirrored yet")
    assert second == unknown


def test_a_topic_of_which_the_group_has_committed_nothing_is_not_passed() -> None:
    (row,) = join_places([ROW], ORIGINS)
    assert (row.wanted, "it has committed nothing of y-0, whose records stand in all-0" in row.why) == (None, True)


def test_a_topic_that_is_mirrored_alone_needs_no_other() -> None:
    assert join_places([ROW], {}) == [ROW]
