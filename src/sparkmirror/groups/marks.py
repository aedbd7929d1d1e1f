"""What a round has done for each group, beside what was known before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sparkmirror.groups.task import GroupReport
from sparkmirror.offsets.group_marks import Deed, GroupMark, LastRounds, Marks, ids_of, remotes_of


class Round(NamedTuple):
    """What was to be done, and when it was done. `cluster`: the source's id."""

    emit: bool
    sync: bool
    at_ms: int
    seconds: float
    cluster: str = ""


def mark_round(before: Marks, round_: Round, reports: Iterable[GroupReport], left_out: Mapping[str, str]) -> Marks:
    """`left_out`: groups that are not followed, with the reason. Groups of which no topic is mirrored are nobody's."""
    rounds = before.rounds
    groups = {}
    for report in (*reports, *(GroupReport(group, unknown=why) for group, why in left_out.items())):
        mark = before.groups.get(report.group, GroupMark())
        if not report.mirrored and not report.why and mark == GroupMark():
            continue
        if round_.emit:
            mark = mark._replace(checkpoint=_deed(mark.checkpoint, report.why_unkept, rounds.checkpoint_ms, round_))
        if round_.sync:
            mark = mark._replace(sync=_deed(mark.sync, report.why_unsynced, rounds.sync_ms, round_))
        if report.mirrored:
            mark = mark._replace(
                cluster=round_.cluster,
                remotes=remotes_of(ids_of(mark.remotes) | ids_of(report.remotes)),
            )
        if report.topics:  # also where none of them gives it a place
            mark = mark._replace(topics=tuple((topic, id_) for topic, id_ in report.topics))
        groups[report.group] = mark
    return Marks(
        LastRounds(
            round_.at_ms if round_.emit else rounds.checkpoint_ms,
            round_.at_ms if round_.sync else rounds.sync_ms,
            round_.seconds,
        ),
        groups,
    )


def _deed(before: Deed, why: str, last_round_ms: int, round_: Round) -> Deed:
    was_well = before.at_ms and not before.why
    if why:
        return Deed(max(before.at_ms, last_round_ms) if was_well else before.at_ms, why)
    return before if was_well else Deed(round_.at_ms)


def plan_marks(before: Marks, now: Marks) -> dict[str, GroupMark | None]:
    """Groups of which there is news; `None` for those that are gone."""
    gone: dict[str, GroupMark | None] = dict.fromkeys(before.groups.keys() - now.groups.keys())
    return gone | {group: mark for group, mark in now.groups.items() if before.groups.get(group) != mark}
