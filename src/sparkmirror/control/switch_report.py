"""What a failover or a failback finds and does: rows of records that are missing and of groups that move. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import PartitionRow
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.groups.rules import IDLE, Moved, plan_commits
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.fact import WHOLE_TOPIC
from sparkmirror.topology.policy import looks_like_heartbeats

TO_MOVE, MOVED, IN_PLACE, AHEAD = "to-move", "moved", "in-place", "ahead"
SHORT, ACTIVE, UNKNOWN, REFUSED = "short", "active", "unknown", "refused"
WELL = (TO_MOVE, MOVED, IN_PLACE, AHEAD)

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRow:
    """Records of a partition that are not mirrored; None: how many can't be told. Partition -1: the whole topic."""

    topic: str
    partition: int
    records: int | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """A group in one partition: from `offset` here to `wanted` there, where it had committed `before`.

    `is_short`: it has read records that are not there. `synced_ms`: of when the offset is, if that is not now.
    """

    group: str
    topic: str
    partition: int
    offset: int
    target_topic: str
    target_partition: int
    wanted: int | None
    metadata: str = ""
    is_short: bool = False
    before: int | None = None
    synced_ms: int | None = None
    state: str = UNKNOWN
    why: str = ""

    @property
    def target(self) -> Place:
        return self.target_topic, self.target_partition

    @property
    def needs_commit(self) -> bool:
        return self.state in (TO_MOVE, SHORT) and self.before != self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`away`: why the source can't be reached. `problem`: why no more was done.

    `not_moved`: groups without rows, `still_there`: groups that still have members where they come from; each with the
    reason. `seen`: how far the copy was when it was last known, and `partitions` all that were mirrored then.
    """

    verb: str
    flow: str
    dry_run: bool
    away: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    halt: Halt | None = None
    missing: tuple[MissingRow, ...] = ()
    moves: tuple[MoveRow, ...] = ()
    not_moved: Mapping[str, str] = field(default_factory=dict)
    still_there: Mapping[str, str] = field(default_factory=dict)
    seen: Seen | None = None
    partitions: tuple[Place, ...] = ()

    @property
    def is_whole(self) -> bool:
        """All is mirrored and moved."""
        trouble = self.problem or self.missing or self.not_moved or self.still_there
        return not trouble and all(row.state in WELL for row in self.moves)


# -- records


def find_missing(survey: FlowSurvey, *, committed: bool) -> tuple[MissingRow, ...]:
    """What consumers would miss on the target. Heartbeats come all the time, and nobody misses them."""
    if survey.problem:
        return (MissingRow(topic="", partition=WHOLE_TOPIC, records=None, why=survey.problem),)
    hidden = [
        MissingRow(topic=row.topic, partition=WHOLE_TOPIC, records=None, why=row.fact.said)
        for row in survey.topics
        if row.fact and not row.target_topic
    ]
    rows = (_missing(row, committed) for row in survey.partitions if not looks_like_heartbeats(row.topic))
    return (*hidden, *filter(None, rows))


def _missing(row: PartitionRow, committed: bool) -> MissingRow | None:
    """Also what stands behind an open transaction: it will be read when that has ended."""
    bounds = row.bounds
    behind = (bounds.source_end or 0) - (bounds.source_stable or 0) if committed else 0
    if row.lag == 0 and behind <= 0:
        return None
    why = row.fact.said if row.fact else ""
    if row.lag is None:
        return MissingRow(topic=row.topic, partition=row.partition, records=None, why=why or "a leader does not answer")
    if not row.lag:
        why = why or "a transaction is open"
    return MissingRow(topic=row.topic, partition=row.partition, records=row.lag + max(0, behind), why=why)


def may_shrink(survey: FlowSurvey) -> bool:
    """Whether waiting can help."""
    stopped = {(row.topic, row.partition) for row in survey.partitions if row.state == STOPPED}
    behind = {(row.topic, row.partition) for row in survey.partitions if row.lag != 0}
    return survey.running and survey.halt is None and not (behind and behind <= stopped)


def known_lag(seen: Seen | None) -> tuple[MissingRow, ...]:
    """What was missing when it was last known."""
    if seen is None:
        return ()
    rows = (MissingRow(topic=t, partition=p, records=count) for (t, p), count in sorted(seen.lag.items()))
    more = (MissingRow(topic="", partition=WHOLE_TOPIC, records=seen.more, why="of other partitions"),)
    return (*rows, *(more if seen.more else ()))


# -- groups


def judge_moves(
    rows: Iterable[MoveRow], there: Mapping[Place, int], state: GroupState, cluster: str, *, rewind: bool
) -> list[MoveRow]:
    """One group's rows, with what is to become of each. `there`: what it has committed on the other side."""
    rows = [replace(row, before=there.get(row.target)) for row in rows]
    wanted = {row.target: Moved(row.offset, row.wanted, row.metadata) for row in rows if row.wanted is not None}
    plan = plan_commits(state.state, state.members, there, wanted, rewind=rewind)
    return [_judge(row, row.target in plan.commits, f"it has {members_text(state, cluster)}") for row in rows]


def _judge(row: MoveRow, is_planned: bool, busy: str) -> MoveRow:
    if row.wanted is None:
        return row
    if not is_planned and row.before is not None and row.before > row.wanted:
        return replace(row, state=AHEAD, why="it has read on there")
    if not is_planned and row.before != row.wanted:
        return replace(row, state=ACTIVE, why=f"{busy}: stop them and run it again")
    if row.is_short:
        return replace(row, state=SHORT, why=row.why or "it has read records that are not there")
    return replace(row, state=TO_MOVE if is_planned else IN_PLACE)


def find_members(states: Mapping[str, GroupState], cluster: str) -> dict[str, str]:
    """Groups that are still read from, and so may commit after all was read."""
    return {
        group: f"it still has {members_text(state, cluster)}, and may commit there: stop them and run it again"
        for group, state in states.items()
        if state.state not in IDLE
    }


def members_text(state: GroupState, cluster: str) -> str:
    return f"{state.members} member{'s' * (state.members != 1)} on {cluster}"
