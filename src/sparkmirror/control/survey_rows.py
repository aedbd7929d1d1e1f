"""What the clusters answered, put together: where each partition stands, how far behind, what holds it up. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sparkmirror.control.discovery import Place
from sparkmirror.control.evident import find_evident
from sparkmirror.copy.facts import SOURCE_RECREATED
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.offsets.group_marks import Marks
from sparkmirror.topology.acls import Acl
from sparkmirror.topology.fact import WHOLE_FLOW, WHOLE_TOPIC, Fact
from sparkmirror.topology.known_configs import Value
from sparkmirror.topology.select import TopicPair
from sparkmirror.topology.standing import Standing

COPIED, COPYING, NEW, MISSING, UNKNOWN = "copied", "copying", "new", "missing", "unknown"
STATES = (COPIED, COPYING, NEW, STOPPED, WAITING, MISSING, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where both logs begin and end. None: no such partition, or its leader does not answer."""

    source_start: int | None = None
    source_stable: int | None = None
    source_end: int | None = None
    target_start: int | None = None
    target_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """`fact`: of the topic as a whole. `by_hand`: configurations that stay as they were set there; None: not set.

    `taken_away`: rights that were taken away there by hand, and stay away.
    """

    topic: str
    target_topic: str
    fact: Fact | None = None
    by_hand: Mapping[str, Value] = field(default_factory=dict)
    taken_away: tuple[Acl, ...] = ()


@dataclass(frozen=True, slots=True)
class ByHand:
    """What was changed by hand on a remote topic."""

    configs: Mapping[str, Value] = field(default_factory=dict)
    rights: tuple[Acl, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """`lag`: offsets still to copy; None if that can't be told. `translated`: why offsets differ, else empty."""

    topic: str
    partition: int
    target_topic: str
    bounds: Bounds
    lag: int | None
    state: str
    translated: str = ""
    fact: Fact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAge:
    """A consumer group: when its checkpoints and its commits on the target were last up to date. None: never."""

    group: str
    checkpointed: float | None
    synced: float | None
    why: str = ""


def assemble_groups(marks: Marks) -> tuple[GroupAge, ...]:
    return tuple(
        GroupAge(
            group=group,
            checkpointed=marks.checkpointed_ms(group) / 1000 or None,
            synced=marks.synced_ms(group) / 1000 or None,
            why=mark.why,
        )
        for group, mark in sorted(marks.groups.items())
    )


def assemble_topics(pairs: Iterable[TopicPair], facts: Mapping[Place, Fact]) -> tuple[TopicRow, ...]:
    """Also topics that can't be seen, if a fact says why; it is not known where those go."""
    rows = [
        TopicRow(topic=pair.topic, target_topic=pair.remote, fact=facts.get((pair.topic, WHOLE_TOPIC)))
        for pair in pairs
    ]
    seen = {row.topic for row in rows} | {WHOLE_FLOW[0]}
    unseen = [p for p in sorted(facts) if p[0] not in seen and p[1] == WHOLE_TOPIC]
    return (*rows, *(TopicRow(topic=p[0], target_topic="", fact=facts[p]) for p in unseen))


def add_by_hand(rows: Iterable[TopicRow], hands: Mapping[str, ByHand]) -> tuple[TopicRow, ...]:
    """`hands`: by remote topic."""
    known = ((row, hands.get(row.target_topic, ByHand())) for row in rows)
    return tuple(replace(row, by_hand=hand.configs, taken_away=hand.rights) for row, hand in known)


def assemble_partitions(
    pairs: Iterable[TopicPair],
    bounds: Mapping[Place, Bounds],
    progress: Mapping[Place, Standing],
    facts: Mapping[Place, Fact],
    committed: bool,
    others: Collection[str] = (),
) -> tuple[PartitionRow, ...]:
    """`committed`: the copy ends at the source's last stable offset, else at its high watermark. `others`: topics that
    progress is not of.
    """
    rows = []
    for pair in pairs:
        for number in range(pair.partitions):
            place = (pair.topic, number)
            at, known = bounds.get(place, Bounds()), progress.get(place)
            fact = facts.get(place) or _topics_fact(pair, number, facts)
            may_be_evident = not pair.is_shared and pair.topic not in others
            if may_be_evident and (fact is None or fact.kind != STOPPED):
                fact = find_evident((pair.topic, pair.remote), at.source_end, at.target_end, known) or fact
            rows.append(_row(pair, number, at, known, fact, committed))
    return tuple(rows)


def _topics_fact(pair: TopicPair, partition: int, facts: Mapping[Place, Fact]) -> Fact | None:
    """What keeps a topic from being made keeps each of its partitions."""
    fact = facts.get((pair.topic, WHOLE_TOPIC))
    return fact if fact and fact.kind != NOTED and partition >= pair.present else None


def _row(
    pair: TopicPair, partition: int, bounds: Bounds, progress: Standing | None, fact: Fact | None, committed: bool
) -> PartitionRow:
    has_target = pair.target_of(partition) < pair.present
    is_new = progress is None and (pair.is_shared or not bounds.target_end or _is_others(bounds))
    end = bounds.source_stable if committed else bounds.source_end
    stand = (
        bounds.source_start
        if is_new or not has_target
        else find_stand(progress, bounds.target_end, is_shared=pair.is_shared)
    )
    if fact and fact.name == SOURCE_RECREATED:
        stand = bounds.source_start  # of the topic that is there now nothing was copied
    elif fact and fact.kind == STOPPED and progress is not None and stand is not None:
        stand = min(stand, progress.next_offset)  # what stands behind that need not be ours
    answered = bounds.source_start is not None and (bounds.target_end is not None or not has_target)
    lag = max(0, end - stand) if answered and end is not None and stand is not None else None
    return PartitionRow(
        topic=pair.topic,
        partition=partition,
        target_topic=pair.remote,
        bounds=bounds,
        lag=lag,
        state=_state(fact, lag, has_target=has_target, is_new=is_new),
        translated=progress.translated if progress and has_target else "",
        fact=fact,
    )


def _is_others(bounds: Bounds) -> bool:
    """More than the source ever had."""
    return bounds.target_end is not None and bounds.source_end is not None and bounds.target_end > bounds.source_end


def find_stand(progress: Standing | None, target_end: int | None, *, is_shared: bool = False) -> int | None:
    """The source offset that comes next, as far as it can be told without reading the logs."""
    if target_end is None:
        return None
    if progress is None:
        return target_end
    if is_shared or progress.target_end < 0:  # a MirrorMaker 2 or an operator wrote the source offset alone
        return progress.next_offset
    if progress.translated:
        return progress.next_offset + max(0, target_end - progress.target_end)
    return max(target_end, progress.log_start)


def _state(fact: Fact | None, lag: int | None, *, has_target: bool, is_new: bool) -> str:
    if fact and fact.kind == STOPPED:
        return STOPPED
    if not has_target:
        return MISSING
    if lag is None:
        return UNKNOWN
    if fact and fact.kind == WAITING:
        return WAITING
    if lag == 0:
        return COPIED
    return NEW if is_new else COPYING
