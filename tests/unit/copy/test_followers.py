"""Which replica is asked next (KIP-392)."""

from __future__ import annotations

import pytest

from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.followers import AVOID_S, Followers
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.protocol import codes
from sparkmirror.protocol.fetch import FetchedPartition

LEADER, FOLLOWER = 1, 2


def cursor_at(node: int) -> Cursor:
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="A.t"), 7)
    cursor.source_node, cursor.read_node = LEADER, node
    return cursor


def answer(error: int = 0, preferred: int = -1, *, is_diverging: bool = False) -> FetchedPartition:
    return FetchedPartition("t", 0, error, 10, 10, 0, (), preferred, memoryview(b""), is_diverging)


def test_the_replica_that_a_leader_names_is_asked_next() -> None:
    followers = Followers("here")
    assert followers.next_node(cursor_at(LEADER), answer(preferred=FOLLOWER), 0.0) == FOLLOWER
    assert followers.next_node(cursor_at(FOLLOWER), answer(), 0.0) == FOLLOWER
    assert followers.rack(0.0) == "here"


@pytest.mark.parametrize(
    "error", [codes.OFFSET_OUT_OF_RANGE, codes.NOT_LEADER_OR_FOLLOWER, codes.OFFSET_NOT_AVAILABLE, 0]
)
def test_what_a_follower_refuses_is_asked_of_the_leader_without_a_rack_for_a_while(error: int) -> None:
    followers = Followers("here")
    assert followers.next_node(cursor_at(FOLLOWER), answer(error, is_diverging=not error), 1.0) == LEADER
    assert (followers.rack(1.0), followers.rack(1.0 + AVOID_S)) == ("", "here")


def test_what_a_leader_refuses_is_its_word() -> None:
    assert Followers("here").next_node(cursor_at(LEADER), answer(codes.OFFSET_OUT_OF_RANGE), 0.0) == LEADER
