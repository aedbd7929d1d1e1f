"""A group of the target goes with its group of the source only if all that it holds was synced."""

from __future__ import annotations

import pytest

from sparkmirror.errors import BrokerError
from sparkmirror.groups.deletes import End, find_proven, plan_end
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.protocol import codes
from sparkmirror.protocol.committed import Committed

PLACE = ("a.t", 0)
SYNCED = {PLACE: Checkpoint("g", *PLACE, 12, 10)}
GONE, EMPTY, STABLE = GroupState("Dead"), GroupState("Empty"), GroupState("Stable", members=2)
AWAY = BrokerError(codes.COORDINATOR_NOT_AVAILABLE, "its coordinator does not answer")
OURS = {PLACE: Committed(10)}


@pytest.mark.parametrize(
    ("here", "there", "offsets", "end"),
    [
        (GONE, EMPTY, OURS, End.DELETE),
        (GONE, GONE, {}, End.FORGET),
        (GONE, STABLE, OURS, End.ACTIVE),
        (GONE, EMPTY, {PLACE: Committed(11)}, End.USED),
        (GONE, EMPTY, {PLACE: Committed(9)}, End.USED),
        (GONE, EMPTY, OURS | {("other", 0): Committed(1)}, End.USED),
        (GONE, EMPTY, {}, End.USED),
        (EMPTY, EMPTY, OURS, End.UNCERTAIN),
        (AWAY, EMPTY, OURS, End.UNCERTAIN),
        (GONE, AWAY, OURS, End.UNCERTAIN),
        (GONE, EMPTY, AWAY, End.UNCERTAIN),
    ],
)
def test_the_end_of_a_group(here: object, there: object, offsets: object, end: End) -> None:
    assert plan_end(here, there, offsets, SYNCED, {"a.t", "other"}) is end


def test_a_group_of_a_topic_that_may_have_been_made_anew_stays() -> None:
    assert plan_end(GONE, EMPTY, OURS, SYNCED, {"other"}) is End.WITHOUT_TOPIC


def test_without_checkpoints_nothing_is_known_to_be_synced() -> None:
    assert plan_end(GONE, EMPTY, OURS, {}, {"a.t"}) is End.USED


def test_a_group_stays_if_one_of_the_topics_in_which_it_stood_is_another_by_now() -> None:
    """Also one that is mirrored again: the group ended with the old one, and nobody has deleted it."""
    remotes = {"t": "a.t", "u": "a.u", "x": "a.x"}
    assert find_proven({"t": "1", "u": "2"}, {"t": "1", "u": "2", "x": "3"}, remotes) == {"a.t", "a.u"}
    assert find_proven({"t": "1", "u": "2"}, {"t": "1", "u": "9"}, remotes) == set()
    assert find_proven({"t": "1", "u": "2"}, {"t": "1"}, {"t": "all", "u": "all"}) == set(), "merged"
    assert find_proven({}, {"t": "1"}, remotes) == set(), "an earlier version has not kept where it stood"
