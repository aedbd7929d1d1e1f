"""Consumer groups go over to another cluster: their exact places there, committed for those without members there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import pick_leaders
from sparkmirror.control.group_keeper import choose_groups, unsupported_groups
from sparkmirror.control.switch_report import MOVED, REFUSED, SHORT, TO_MOVE, MoveRow, find_members, judge_moves
from sparkmirror.control.translators import LastView
from sparkmirror.errors import BrokerError
from sparkmirror.groups.rules import Moved, plan_checkpoints
from sparkmirror.groups.translator import Answer, Bounds, Translator
from sparkmirror.groups.work import NOTHING_OF, Synced
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets, why_uncommitted
from sparkmirror.net.groups import GroupState, describe_groups, list_groups
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.group_marks import GroupMarksTopic, Marks, ids_of
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.choose import choose_group_filter
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]
MADE_ANEW_SINCE = "the target topic was deleted and made anew since"


@dataclass(slots=True)
class Wanted:
    """Where groups are to go on. `failed`: groups of which that can't be told; `members`: those that are still read.
    `has_way_back`: see `plan_commits`.
    """

    rows: dict[str, list[MoveRow]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    has_way_back: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether every place is known that can be."""
        rows = [row for group in self.rows.values() for row in group if row.target_topic]
        return all(row.wanted is not None and not row.is_short for row in rows)


def find_groups(cluster: Cluster, flow: FlowConfig, only: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The groups that go over, and those that can't. `only`: these, whatever the file says."""
    listing = list_groups(cluster)
    failed = {f"groups of broker {node}": why for node, why in listing.failed.items()}
    if only:
        return list(only), failed
    wanted = choose_group_filter(flow).should_replicate_group
    return list(choose_groups(listing, wanted)), failed | unsupported_groups(listing, wanted)


def read_wanted(
    here: Cluster, translator: Translator, groups: Sequence[str], merged: frozenset[str], known: Metadata
) -> Wanted:
    """Of what they have committed here. `merged`: topics in which the offsets of several stand. `known`: what there was
    here before that is asked.
    """
    wanted = Wanted(has_way_back=translator.has_way_back)
    found = fetch_group_offsets(here, groups, require_stable=True)
    places = {place for offsets in found.values() if isinstance(offsets, dict) for place in offsets}
    translator.look(places, topic_ids(known.topics.values()))
    for group, offsets in found.items():
        if isinstance(offsets, BrokerError):
            wanted.failed[group] = str(offsets)
        elif rows := list(_translate(group, offsets, translator, merged)):
            wanted.rows[group] = join_places(rows, translator.origins)
    wanted.members = find_members(_states(here, list(wanted.rows), wanted.failed), here.address.alias)
    return wanted


def _translate(
    group: str, offsets: Mapping[Place, Committed], translator: Translator, merged: frozenset[str]
) -> Iterable[MoveRow]:
    for (topic, partition), committed in sorted(offsets.items()):
        if committed.offset < 0:
            continue
        answer = translator.translate((topic, partition), committed.offset)
        if answer is None and topic not in merged:
            continue
        yield MoveRow(
            group=group,
            topic=topic,
            partition=partition,
            offset=committed.offset,
            target_topic=answer.place[0] if answer else "",
            target_partition=answer.place[1] if answer else -1,
            wanted=answer.found.offset if answer and answer.found else None,
            metadata=committed.metadata,
            is_short=bool(answer and answer.found and not answer.found.is_exact),
            at_start=bool(answer and answer.at_start),
            is_raised=bool(answer and answer.is_raised),
            why=answer.why if answer else "several topics go into it, and their offsets can't be told apart",
        )


def join_places(rows: Sequence[MoveRow], origins: Mapping[Place, Collection[Place]]) -> list[MoveRow]:
    """Where topics are merged several places become one: from the first of them on nothing is missed. All of them must
    be told, since of one that is not anything could be. `origins`: what was merged into one place.
    """
    told: dict[Place, set[Place]] = {}
    lowest: dict[Place, int] = {}
    unknown = {row.target: f"of {row.topic}-{row.partition}: {row.why}" for row in rows if row.wanted is None}
    for row in rows:
        if row.wanted is not None:
            told.setdefault(row.target, set()).add((row.topic, row.partition))
            lowest[row.target] = min(row.wanted, lowest.get(row.target, row.wanted))
    for target, places in told.items():
        for place in sorted(set(origins.get(target, ())) - places):
            unknown.setdefault(target, NOTHING_OF.format(*place, *target))
    return [_join(row, lowest, unknown) for row in rows]


def _join(row: MoveRow, lowest: Mapping[Place, int], unknown: Mapping[Place, str]) -> MoveRow:
    if row.wanted is None:
        return row
    if row.target in unknown:
        return replace(row, wanted=None, is_short=False, why=unknown[row.target])
    return replace(row, wanted=lowest[row.target])


def read_last_known(
    target: Cluster, flow: FlowConfig, topic: str, only: Sequence[str], caps: Mapping[Place, int]
) -> Wanted:
    """Of the newest checkpoints on the target, within its logs as they are. `caps`: where these end for us.

    What a checkpoint says may be older than progress and map, which are on the target, too: a log that was made anew
    since, or has lost its beginning, has other places. So each is translated again, and the lower of both counts.
    """
    checkpoints = CheckpointTopic(target, topic)
    checkpoints.read_on()
    followed = choose_group_filter(flow).should_replicate_group
    groups = [g for g in checkpoints.groups() if (g in only if only else followed(g))]
    places = {place for group in groups for place in checkpoints.last(group)}
    metadata = target.fetch_metadata()
    starts, ends = (list_offsets(target, pick_leaders(metadata, places), when) for when in (EARLIEST, LATEST))
    bounds = {place: Bounds(starts[place], end) for place, end in ends.items() if place in starts}
    view = LastView(flow, target, metadata)
    view.look(places)
    storage = Storage.of(flow)
    marks = GroupMarksTopic(target, storage).read() if storage.status in metadata.topics else Marks()
    seen_ms = {group: marks.checkpointed_ms(group) for group in marks.groups}
    ids = topic_ids(metadata.topics.values())
    anew = {
        group: {place for place, id_ in ids_of(mark.remotes).items() if ids.get(place[0], id_) != id_}
        for group, mark in marks.groups.items()
    }
    return Wanted(
        {
            group: [
                replace(row, wanted=None, why=f"{MADE_ANEW_SINCE} its checkpoint was written")
                if place in anew.get(group, ())
                else row
                for place, found in sorted(checkpoints.last(group).items())
                for row in [
                    _known_row(found, bounds.get(place), caps.get(place), view.ask(found), seen_ms.get(group, 0))
                ]
            ]
            for group in groups
        }
    )


def _known_row(found: Checkpoint, log: Bounds | None, cap: int | None, now: Answer | None, seen_ms: int) -> MoveRow:
    """`now`: what progress and map say of it; None: nothing. `seen_ms`: when a round last found the group there."""
    row = MoveRow(
        group=found.group,
        topic="",
        partition=-1,
        offset=found.upstream_offset,
        target_topic=found.topic,
        target_partition=found.partition,
        wanted=None,
        metadata=found.metadata,
        synced_ms=max(found.written_ms, seen_ms),
    )
    if log is None:
        return replace(row, why=f"{found.topic}-{found.partition} can't be read on the target")
    if now and now.found is None:
        return replace(row, why=now.why)
    end = log.end if cap is None else min(log.end, cap)
    lowest = min(found.downstream_offset, end, now.found.offset if now and now.found else end)
    return replace(row, wanted=max(lowest, log.start), is_short=found.downstream_offset > end)


def read_checkpoints(target: Cluster, topic: str, groups: Iterable[str]) -> Synced:
    """The newest of groups, by which it is told what was done with them since. `topic` need not be there."""
    if topic not in target.fetch_metadata().topics:
        return {}
    checkpoints = CheckpointTopic(target, topic)
    checkpoints.read_on()
    return {group: checkpoints.last(group) for group in groups}


def move(there: Cluster, wanted: Wanted, *, dry_run: bool, synced: Synced, rewind: bool) -> tuple[MoveRow, ...]:
    """Commit what is to be committed. Rows say what became of them; groups that can't be asked about are `failed`.

    `synced`, `rewind`: see `judge_moves`.
    """
    groups = list(wanted.rows)
    states = _states(there, groups, wanted.failed)
    known = fetch_group_offsets(there, groups)
    rows: list[MoveRow] = []
    for group in groups:
        offsets = known[group]
        if isinstance(offsets, BrokerError):
            wanted.failed[group] = str(offsets)
        elif group in states:
            before = {place: c.offset for place, c in offsets.items() if c.offset >= 0}
            rows += judge_moves(
                wanted.rows[group],
                before,
                states[group],
                there.address.alias,
                synced=synced.get(group, {}),
                rewind=rewind,
                has_way_back=wanted.has_way_back,
            )
    return tuple(rows) if dry_run else _commit(there, rows)


def _commit(there: Cluster, rows: Sequence[MoveRow]) -> tuple[MoveRow, ...]:
    due: dict[str, dict[Place, Committed]] = {}
    for row in rows:
        if row.needs_commit and row.wanted is not None:
            due.setdefault(row.group, {})[row.target] = Committed(row.wanted, row.metadata)
    answers = commit_group_offsets(there, due)
    return tuple(_after_commit(there, row, answers[row.group]) if row.needs_commit else row for row in rows)


def _after_commit(there: Cluster, row: MoveRow, answer: Mapping[Place, int] | BrokerError) -> MoveRow:
    if isinstance(answer, BrokerError):
        return replace(row, state=REFUSED, why=str(answer))
    if code := answer[row.target]:
        return replace(row, state=REFUSED, why=str(why_uncommitted(there, row.target, code)))
    return replace(row, state=MOVED) if row.state == TO_MOVE else row


def write_checkpoints(target: Cluster, topic: str, rows: Iterable[MoveRow]) -> None:
    """Who translates offsets by checkpoints finds the same places."""
    moved = [
        Checkpoint(row.group, *row.target, row.offset, row.wanted, row.metadata)
        for row in rows
        if row.wanted is not None and row.state in (MOVED, SHORT)
    ]
    checkpoints = CheckpointTopic(target, topic)
    checkpoints.read_on()
    checkpoints.write(each for each in moved if _is_news(checkpoints.last(each.group), each))


def write_back(target: Cluster, topic: str, rows: Iterable[MoveRow], remotes: Collection[str]) -> None:
    """Where groups stood on the target that went to the source's first record: their offset there does not tell it.

    `remotes`: of topics that the flow mirrors.
    """
    CheckpointTopic(target, topic).write(
        Checkpoint(row.group, row.topic, row.partition, row.wanted, row.offset, row.metadata)
        for row in rows
        if row.wanted is not None and row.is_raised and row.state in (MOVED, SHORT) and row.topic in remotes
    )


def _is_news(before: Mapping[Place, Checkpoint], now: Checkpoint) -> bool:
    place = (now.topic, now.partition)
    return bool(plan_checkpoints(before, {place: Moved(now.upstream_offset, now.downstream_offset, now.metadata)}))


def _states(cluster: Cluster, groups: Sequence[str], failed: dict[str, str]) -> dict[str, GroupState]:
    states: dict[str, GroupState] = {}
    for group, state in describe_groups(cluster, groups).items():
        if isinstance(state, GroupState):
            states[group] = state
        else:
            failed[group] = str(state)
    return states
