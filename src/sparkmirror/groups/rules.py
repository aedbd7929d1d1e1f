"""Which checkpoints are emitted and which offsets are committed on the target. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sparkmirror.offsets.checkpoints import Checkpoint

IDLE = ("Empty", "Dead")
UNREAD = "it stands where that log begins, and may not have read what was removed before"

Place = tuple[str, int]


class Moved(NamedTuple):
    """A group's place in a partition: what it committed at the source, and where that stands on the target.

    `is_exact` False: it has read records that were not copied yet; then it is the end of what was. `at_start`: it
    stands where the source's log begins, and may have been put there from an earlier place on the target.
    """

    upstream: int
    downstream: int
    metadata: str = ""
    is_exact: bool = True
    at_start: bool = False


class CommitPlan(NamedTuple):
    """`why` is empty if all is committed by then. `unread`: places that stay, since more than is known is not read."""

    commits: dict[Place, Moved]
    why: str = ""
    unread: frozenset[Place] = frozenset()


def plan_checkpoints(
    before: Mapping[Place, Checkpoint],
    now: Mapping[Place, Moved],
    written_since_ms: int | None = None,
    *,
    has_way_back: bool = False,
) -> dict[Place, Moved]:
    """By remote place, what is not said by the checkpoints before, or was said so long ago that it may expire.
    Of a group that may have been put at the source's first record (see `plan_commits`) no later place is said.

    A checkpoint goes back with the group, and with the target's log: one that was made anew has other offsets.
    """
    return {
        place: moved
        for place, moved in now.items()
        if _is_news(before.get(place), moved, written_since_ms)
        and not (has_way_back and moved.at_start and _is_later(before.get(place), moved))
    }


def _is_news(before: Checkpoint | None, now: Moved, since_ms: int | None) -> bool:
    if _was_put(before, now):
        return False
    if before is None or now.upstream < before.upstream_offset or now.downstream != before.downstream_offset:
        return True
    return since_ms is not None and before.written_ms < since_ms


def plan_commits(
    state: str,
    members: int,
    there: Mapping[Place, int],
    wanted: Mapping[Place, Moved],
    *,
    rewind: bool,
    synced: Mapping[Place, Checkpoint],
    has_way_back: bool = False,
) -> CommitPlan:
    """What to commit on the target for one group. `there`: what is committed there; less than 0: nothing.

    Who has members there is left alone. An offset moves forward, and back only with `rewind`, of a group that was reset
    at the source. `synced`: the checkpoints by which that is told.

    One that stands where the source's log begins may have been put there from where it is on the target: by a failback,
    which left a checkpoint that says so, or where there is a flow back (`has_way_back`), by that. Then it stays there.
    """
    behind = {place: moved for place, moved in wanted.items() if there.get(place, -1) < moved.downstream}
    ahead = {place for place, moved in wanted.items() if there.get(place, -1) > moved.downstream}
    unread = frozenset(
        place
        for place, moved in behind.items()
        if there.get(place, -1) >= 0 and ((has_way_back and moved.at_start) or _was_put(synced.get(place), moved))
    )
    behind = {place: moved for place, moved in behind.items() if place not in unread}
    if rewind:
        reset = {place for place in ahead if _is_reset(synced.get(place), there[place], wanted[place])}
        behind |= {place: wanted[place] for place in reset}
        ahead -= reset
    if behind and state not in IDLE:
        return CommitPlan({}, f"the group is {state} on the target, with {members} members", unread)
    if ahead:
        topic, partition = min(ahead)
        return CommitPlan(behind, f"it is further on the target in {_more(ahead, f'{topic}-{partition}')}", unread)
    if unread:
        topic, partition = min(unread)
        return CommitPlan(behind, f"{UNREAD} (in {_more(unread, f'{topic}-{partition}')})", unread)
    return CommitPlan(behind)


def _is_later(before: Checkpoint | None, now: Moved) -> bool:
    return before is not None and before.downstream_offset < now.downstream


def _was_put(before: Checkpoint | None, now: Moved) -> bool:
    """It stands at the source's first record, and was put there from an earlier place on the target."""
    is_same = before is not None and before.upstream_offset == now.upstream
    return now.at_start and is_same and _is_later(before, now)


def _is_reset(before: Checkpoint | None, there: int, now: Moved) -> bool:
    """It went back at the source, and on the target it stands where it was put: nobody has read on there."""
    return before is not None and now.upstream < before.upstream_offset and there == before.downstream_offset


def _more(places: Collection[Place], first: str) -> str:
    return first if len(places) == 1 else f"{first} and {len(places) - 1} more"
