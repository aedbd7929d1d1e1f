"""What a failover or a failback finds and does: rows of records that are missing and of groups that move. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sparkmirror.control.copy_proof import Proof
from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import PartitionRow
from sparkmirror.copy.facts import RECORD_SKIPPED, RECORD_TOO_LARGE
from sparkmirror.copy.receipt import NOTED, STOPPED
from sparkmirror.groups.rules import IDLE, UNREAD, Moved, plan_commits
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.fact import WHOLE_TOPIC, Fact
from sparkmirror.topology.policy import looks_like_heartbeats

TO_MOVE, MOVED, IN_PLACE, AHEAD = "to-move", "moved", "in-place", "ahead"
SHORT, ACTIVE, UNKNOWN, REFUSED = "short", "active", "unknown", "refused"
WELL = (TO_MOVE, MOVED, IN_PLACE, AHEAD)
LEFT_OUT = (RECORD_SKIPPED, RECORD_TOO_LARGE)  # facts of records that the copy went on without
AHEAD_AND_SHORT = "it has read on there, and here records that are not there: some of these may come again"
BESIDE = ("diverged", "foreign-writer", "source-recreated", "source-truncated")  # of records that the source has not

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRow:
    """Records of a partition that are not mirrored; None: how many can't be told. Partition -1: the whole topic.

    `stands`: waiting does not help.
    """

    topic: str
    partition: int
    records: int | None
    why: str = ""
    stands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """A group in one partition: from `offset` here to `wanted` there, where it had committed `before`.

    `is_short`: it has read records that are not there. `synced_ms`: of when the offset is, if that is not now.
    `at_start`: see `Moved`; `is_raised`: see `Answer`.
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
    at_start: bool = False
    is_raised: bool = False
    before: int | None = None
    synced_ms: int | None = None
    state: str = UNKNOWN
    why: str = ""

    @property
    def target(self) -> Place:
        return self.target_topic, self.target_partition

    @property
    def is_well(self) -> bool:
        """It goes on with the very next record. One that is ahead need not, if what it has read is not known there."""
        return self.state in WELL and not (self.state == AHEAD and self.is_short)

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
        """It is proven that all is mirrored, and all is moved."""
        trouble = self.problem or self.away or self.missing or self.not_moved or self.still_there
        return not trouble and all(row.is_well for row in self.moves)


# -- records


def find_missing(survey: FlowSurvey, proofs: Mapping[Place, Proof], *, committed: bool) -> tuple[MissingRow, ...]:
    """What consumers would miss on the target. Heartbeats come all the time, and nobody misses them."""
    if survey.problem:
        return (MissingRow(topic="", partition=WHOLE_TOPIC, records=None, why=survey.problem),)
    hidden = [
        MissingRow(topic=row.topic, partition=WHOLE_TOPIC, records=None, why=row.fact.said, stands=True)
        for row in survey.topics
        if row.fact and not row.target_topic
    ]
    rows = (
        _missing(row, proofs.get((row.topic, row.partition)), committed)
        for row in survey.partitions
        if not looks_like_heartbeats(row.topic)
    )
    return (*hidden, *filter(None, rows))


def _missing(row: PartitionRow, proof: Proof | None, committed: bool) -> MissingRow | None:
    """Also what stands behind an open transaction: it will be read when that has ended. And what stands still, or is
    known to lack a record, however long its logs are.
    """
    bounds, fact = row.bounds, row.fact
    behind = (bounds.source_end or 0) - (bounds.source_stable or 0) if committed else 0
    lag, why = (proof.lag, proof.why) if proof else (row.lag, "")
    stands = row.state == STOPPED or (proof is not None and bool(proof.why) and not proof.passes)
    lacks = fact is not None and fact.kind == NOTED and fact.name in LEFT_OUT
    if lag == 0 and behind <= 0 and not (stands or why or lacks):
        return None
    why = why or (fact.said if fact else "")
    found = MissingRow(topic=row.topic, partition=row.partition, records=None, why=why, stands=stands or lacks)
    if lag is None:
        return replace(found, why=why or "a leader does not answer")
    if lacks and not lag:
        return found
    return replace(found, records=lag + max(0, behind), why=why or ("" if lag else "a transaction is open"))


def find_alone(survey: FlowSurvey, proofs: Mapping[Place, Proof], ends: tuple[str, str]) -> tuple[MissingRow, ...]:
    """What consumers would miss on the source when they go back: records that stand on the target alone.

    `ends`: what the clusters are called.
    """
    source, target = ends
    facts = {(row.topic, row.partition): row.fact for row in survey.partitions}
    return tuple(
        MissingRow(topic=proof.remote[0], partition=proof.remote[1], records=records, why=why, stands=not proof.passes)
        for place, proof in sorted(proofs.items())
        for records, why in _alone(proof, facts.get(place), f"on {target} alone", source)
    )


def _alone(proof: Proof, fact: Fact | None, alone: str, source: str) -> Iterable[tuple[int | None, str]]:
    if proof.others:
        yield proof.others, f"they stand {alone}, and nothing brings them to {source}"
    elif proof.parted:
        yield None, f"records stand {alone} ({proof.parted})"
    elif fact is not None and fact.name in BESIDE:
        yield None, f"records stand {alone} ({fact.said})"
    elif proof.why and proof.standing is None:
        yield None, proof.why


def may_shrink(survey: FlowSurvey, missing: Iterable[MissingRow]) -> bool:
    """Whether waiting can help."""
    return survey.running and survey.halt is None and any(not row.stands for row in missing)


def known_lag(seen: Seen | None, facts: Mapping[Place, Fact]) -> tuple[MissingRow, ...]:
    """What was missing when it was last known, and what stands still by the last word of it."""
    lag = seen.lag if seen else {}
    stopped = {place: fact.said for place, fact in facts.items() if fact.kind == STOPPED}
    rows = (
        MissingRow(topic=t, partition=p, records=lag.get((t, p)), why=stopped.get((t, p), ""), stands=True)
        for t, p in sorted({*lag, *stopped})
    )
    more = (MissingRow(topic="", partition=WHOLE_TOPIC, records=seen.more, why="of other partitions"),) if seen else ()
    return (*rows, *(more if seen and seen.more else ()))


# -- groups


def judge_moves(
    rows: Iterable[MoveRow],
    there: Mapping[Place, int],
    state: GroupState,
    cluster: str,
    *,
    synced: Mapping[Place, Checkpoint],
    rewind: bool = False,
    has_way_back: bool = False,
) -> list[MoveRow]:
    """One group's rows, with what is to become of each. `there`: what it has committed on the other side.

    `synced`: its checkpoints. `rewind`: it is to go back where it was reset; else it moves forward only.
    """
    rows = [replace(row, before=there.get(row.target)) for row in rows]
    wanted = {
        row.target: Moved(row.offset, row.wanted, row.metadata, at_start=row.at_start)
        for row in rows
        if row.wanted is not None
    }
    plan = plan_commits(
        state.state, state.members, there, wanted, rewind=rewind, synced=synced, has_way_back=has_way_back
    )
    busy = f"it has {members_text(state, cluster)}"
    return [
        replace(row, state=UNKNOWN, why=UNREAD)
        if row.target in plan.unread
        else _judge(row, row.target in plan.commits, busy)
        for row in rows
    ]


def _judge(row: MoveRow, is_planned: bool, busy: str) -> MoveRow:
    if row.wanted is None:
        return row
    if not is_planned and row.before is not None and row.before > row.wanted:
        return replace(row, state=AHEAD, why=AHEAD_AND_SHORT if row.is_short else "it has read on there")
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
