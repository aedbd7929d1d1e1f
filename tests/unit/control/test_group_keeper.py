"""When groups are looked for and dealt with, and how they are dealt out to tasks."""

from __future__ import annotations

from sparkmirror.control.group_keeper import (
    Due,
    choose_groups,
    new_reasons,
    split_evenly,
    unsupported_groups,
)
from sparkmirror.groups.task import GroupReport
from sparkmirror.net.groups import ListedGroup, Listing
from sparkmirror.topology.choose import choose_group_filter
from tests.support.flow_text import flow_of


def test_blocks_of_neighbours_the_first_ones_longer() -> None:
    assert split_evenly("abcdefgh", 3) == [("a", "b", "c"), ("d", "e", "f"), ("g", "h")]
    assert split_evenly("ab", 5) == [("a",), ("b",)]


def test_groups_that_read_topics_and_pass_the_filter() -> None:
    """MirrorCheckpointConfigTest.testGroupMatching."""
    wanted = choose_group_filter(flow_of("groups=team-.*\ngroups.exclude=team-x\n")).should_replicate_group
    listed = {
        "team-a": ListedGroup("classic", "Empty", "consumer"),
        "team-b": ListedGroup("consumer", "Stable", "consumer"),
        "team-c": ListedGroup("", "", ""),
        "team-x": ListedGroup("classic", "Empty", "consumer"),
        "team-share": ListedGroup("share", "Empty", "share"),
        "team-connect": ListedGroup("classic", "Stable", "connect"),
        "other": ListedGroup("classic", "Empty", "consumer"),
    }
    assert choose_groups(Listing(listed, {}), wanted) == ("team-a", "team-b", "team-c")


def test_each_interval_has_its_own_time() -> None:
    flow = flow_of(
        "refresh.groups.interval.seconds=10\nemit.checkpoints.interval.seconds=2\n"
        "sync.group.offsets.enabled=true\nsync.group.offsets.interval.seconds=3\n"
    )
    due = Due(flow)

    def look(now: float) -> tuple[bool, bool, bool]:
        refresh = due.refresh(now)
        if refresh:
            due.refreshed(now)
        return refresh, *due.round(now)

    assert due.has_round(0.0)
    seen = [look(now) for now in (0.0, 2.0, 3.0, 4.0, 10.0)]
    assert seen == [
        (True, True, True),
        (False, True, False),
        (False, False, True),
        (False, True, False),
        (True, True, True),
    ]
    assert [due.has_round(now) for now in (11.9, 12.0)] == [False, True]


def test_without_refresh_groups_are_found_once_and_without_sync_none_are_committed() -> None:
    due = Due(flow_of("refresh.groups.enabled=false\n"))
    assert [due.refresh(now) for now in (0.0, 1.0, 6.0)] == [True, False, True], "until it succeeds"
    due.refreshed(6.0)
    assert not due.refresh(1e6)
    assert due.round(1e6) == (True, False)


def test_where_groups_may_go_back_checkpoints_and_commits_come_together() -> None:
    due = Due(
        flow_of(
            "emit.checkpoints.interval.seconds=2\nsync.group.offsets.enabled=true\n"
            "sync.group.offsets.interval.seconds=3\nsync.group.offsets.rewind=true\n"
        )
    )
    assert [due.round(now) for now in (0.0, 1.0, 2.0, 3.0)] == [
        (True, True),
        (False, False),
        (True, True),
        (True, True),
    ]


def test_share_groups_are_named() -> None:
    listed = {"s": ListedGroup("share", "Empty", "share"), "o": ListedGroup("share", "Empty", "share")}
    assert unsupported_groups(Listing(listed, {}), lambda group: group == "s") == {
        "s": "share groups are not supported"
    }


def test_nobody_is_followed_if_nothing_is_emitted() -> None:
    """MirrorCheckpointConnectorTest: emit=false gives no tasks."""
    assert flow_of("").follows_groups
    assert not flow_of("emit.checkpoints.enabled=false\n").follows_groups


def test_a_reason_is_said_once_for_all_groups_that_have_it() -> None:
    before = {"a": GroupReport("a", unknown="x"), "b": GroupReport("b")}
    now = {
        name: GroupReport(name, unknown=why)
        for name, why in (("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", ""))
    }
    assert new_reasons(before, now) == {"x": ["b", "c"], "y": ["d"]}
