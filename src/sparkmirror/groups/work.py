"""A task's work: what groups committed at the source becomes checkpoints, and commits of idle groups on the target."""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.groups.rules import Moved, plan_checkpoints, plan_commits
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.groups.translator import Answer, MapReader, Translator
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets, why_uncommitted
from sparkmirror.net.groups import GroupState, describe_groups
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.claims import find_new_origins
from sparkmirror.offsets.group_marks import Remotes, remotes_of
from sparkmirror.protocol import codes
from sparkmirror.protocol.committed import Committed

Place = tuple[str, int]
Group = dict[Place, Moved]  # by the place on the target
Answers = Mapping[tuple[Place, int], Answer]
Synced = Mapping[str, Mapping[Place, Checkpoint]]  # the newest checkpoints of groups
Origins = Mapping[Place, Collection[Place]]
MERGED_SINCE = "another topic was merged into the same one just now"
NOTHING_OF = "it has committed nothing of {}-{}, whose records stand in {}-{}, too"


class _Look(NamedTuple):
    """`copied`: ids of source topics that are still those that were mirrored, by the places of groups in them; `ids`:
    of the target's topics.
    """

    answers: Answers
    origins: Origins
    copied: Mapping[Place, str]
    ids: Mapping[str, str]


class GroupWorker:
    """What is kept from round to round: connections, and what was read of internal topics. One task at a time."""

    def __init__(self, task: GroupTask) -> None:
        self._source = Cluster(task.source)
        self._target = Cluster(task.target)
        self._forward = MapReader(self._target, task.storage)
        self._backward: MapReader | None = None
        self._checkpoints = CheckpointTopic(self._target, task.checkpoints_topic)

    def close(self) -> None:
        self._source.close()
        self._target.close()

    def run(self, task: GroupTask) -> list[GroupReport]:
        """A report of each group. SparkmirrorError: nothing could be done for any of them."""
        ids = topic_ids(self._source.fetch_metadata().topics.values())
        found = fetch_group_offsets(self._source, task.groups)
        reports = {group: GroupReport(group) for group in task.groups}
        groups: dict[str, Group] = {}
        look = self._look(task, [offsets for offsets in found.values() if isinstance(offsets, dict)], ids)
        for group, offsets in found.items():
            if isinstance(offsets, BrokerError):
                reports[group] = GroupReport(group, unknown=str(offsets))
            else:
                groups[group], report = move_group(group, offsets, look.answers, look.origins)
                reports[group] = report._replace(
                    topics=_topics_of(offsets, look.copied), remotes=_remotes_of(groups[group], look.ids)
                )
        is_asked = task.emit or task.rewind or any(m.at_start for now in groups.values() for m in now.values())
        synced = self._try_to_read(groups) if is_asked else {}
        held = self._sync(groups, reports, task, synced) if task.sync else set()
        if task.emit:
            self._try_to_emit({g: now for g, now in groups.items() if g not in held}, reports, task, synced)
        return list(reports.values())

    def _try_to_read(self, groups: Iterable[str]) -> Synced | SparkmirrorError:
        try:
            self._checkpoints.read_on()
        except SparkmirrorError as error:
            return error
        return {group: self._checkpoints.last(group) for group in groups}

    def _look(self, task: GroupTask, found: Sequence[Mapping[Place, Committed]], ids: Mapping[str, str]) -> _Look:
        translator = self._open(task)
        places = {place for offsets in found for place in offsets}
        translator.look(places, ids)
        copied = {place: id_ for place in places if (id_ := translator.copied_id(place))}
        committed = ((place, c.offset) for offsets in found for place, c in offsets.items() if c.offset >= 0)
        answers = translator.translate_all(committed)
        if self._are_more_merged(task):
            answers |= {
                asked: Answer(answer.place, None, MERGED_SINCE)
                for asked, answer in answers.items()
                if asked[0][0] in task.names.shares
            }
        return _Look(answers, translator.origins, copied, translator.target_ids)

    def _are_more_merged(self, task: GroupTask) -> bool:
        """Whether topics that this task does not know of may have records where others are merged: each is claimed
        before its first record, and so before all that this round has seen behind it."""
        if not task.names.shares:
            return False
        origins = find_new_origins(self._target, task.storage, task.claims_end)
        return origins is None or not origins <= task.names.shares.keys()

    def _open(self, task: GroupTask) -> Translator:
        if task.names.origin and self._backward is None:
            topic = task.other_way.progress
            if not self._source.fetch_metadata([topic]).topics[topic].error:
                self._backward = MapReader(self._source, task.other_way)
        return Translator(self._source, self._target, task.names, self._forward, self._backward)

    def _try_to_emit(
        self,
        groups: Mapping[str, Group],
        reports: dict[str, GroupReport],
        task: GroupTask,
        synced: Synced | SparkmirrorError,
    ) -> None:
        """That checkpoints can't be kept is no reason not to commit."""
        try:
            if isinstance(synced, SparkmirrorError):
                raise synced
            self._emit(groups, reports, task, synced)
        except SparkmirrorError as error:
            for group in groups:
                reports[group] = reports[group]._replace(unkept=f"no checkpoint: {error}")

    def _emit(
        self, groups: Mapping[str, Group], reports: dict[str, GroupReport], task: GroupTask, synced: Synced
    ) -> None:
        again_ms = None if task.emit_again_ms is None else int(time.time() * 1000) - task.emit_again_ms
        due = []
        for group, now in groups.items():
            news = plan_checkpoints(synced[group], now, again_ms, has_way_back=self._backward is not None)
            due += [Checkpoint(group, *place, m.upstream, m.downstream, m.metadata) for place, m in news.items()]
            reports[group] = reports[group]._replace(emitted=len(news))
        self._checkpoints.write(due)

    def _sync(
        self,
        groups: dict[str, Group],
        reports: dict[str, GroupReport],
        task: GroupTask,
        synced: Synced | SparkmirrorError,
    ) -> set[str]:
        """Groups that may still have to be taken back: until then their checkpoints must say where they were put.

        Groups that are nowhere mirrored are not looked for on the target. Places that stay there are taken from
        `groups`: no checkpoint says a later one.
        """
        mirrored = [group for group, now in groups.items() if now]
        states = describe_groups(self._target, mirrored)
        there = fetch_group_offsets(self._target, mirrored)
        known_by = {} if isinstance(synced, SparkmirrorError) else synced
        commits: dict[str, dict[Place, Committed]] = {}
        failed: set[str] = set()
        for group in mirrored:
            state, known = states.get(group), there.get(group)
            if not isinstance(state, GroupState) or not isinstance(known, dict):
                refused = state if isinstance(state, BrokerError) else known
                why = str(refused or "its coordinator on the target does not answer")
                reports[group] = reports[group]._replace(unsynced=why)
                failed |= {group} if _may_pass(refused) else set()
                continue
            offsets, before = {place: found.offset for place, found in known.items()}, known_by.get(group, {})
            plan = plan_commits(
                state.state,
                state.members,
                offsets,
                groups[group],
                rewind=task.rewind,
                synced=before,
                has_way_back=self._backward is not None,
            )
            reports[group] = reports[group]._replace(unsynced=plan.why)
            groups[group] = {place: moved for place, moved in groups[group].items() if place not in plan.unread}
            if plan.commits:
                commits[group] = {place: Committed(m.downstream, m.metadata) for place, m in plan.commits.items()}
        for group, answer in commit_group_offsets(self._target, commits).items():
            reports[group] = _after_commit(self._target, reports[group], answer)
            failed |= {group} if _may_pass(answer) else set()
        return failed if task.rewind else set()


def move_group(
    group: str, offsets: Mapping[Place, Committed], answers: Answers, origins: Origins
) -> tuple[Group, GroupReport]:
    """Where a group stands on the target, as far as it can be told. An offset below 0 is none.

    `origins`: the partitions that are merged into one place. All of them must be told: from the first on nothing is
    missed, and of one that is not told anything could be.
    """
    moved: Group = {}
    unknown: dict[Place, str] = {}
    lost: set[Place] = set()
    for place, committed in offsets.items():
        answer = answers.get((place, committed.offset))
        if answer is None:
            continue
        if answer.found is None:
            unknown[place] = answer.why
            lost.add(answer.place)
        elif answer.place not in moved or answer.found.offset < moved[answer.place].downstream:
            found = answer.found
            moved[answer.place] = Moved(
                committed.offset, found.offset, committed.metadata, found.is_exact, answer.at_start
            )
    for remote in moved:
        for place in origins.get(remote, ()):
            if place not in offsets or offsets[place].offset < 0:
                unknown[place] = NOTHING_OF.format(*place, *remote)
                lost.add(remote)
    moved = {place: each for place, each in moved.items() if place not in lost}
    lagging = sum(not m.is_exact for m in moved.values())
    return moved, GroupReport(group, mirrored=len(moved), lagging=lagging, unknown=_first_of(unknown))


def _topics_of(offsets: Mapping[Place, Committed], copied: Mapping[Place, str]) -> tuple[tuple[str, str], ...]:
    ids = {place[0]: copied[place] for place, committed in offsets.items() if committed.offset >= 0 and place in copied}
    return tuple(sorted(ids.items()))


def _remotes_of(now: Group, ids: Mapping[str, str]) -> Remotes:
    return remotes_of({place: ids[place[0]] for place in now if place[0] in ids})


def _first_of(reasons: Mapping[Place, str]) -> str:
    if not reasons:
        return ""
    (topic, partition), why = min(reasons.items())
    return f"{topic}-{partition}: {why}" + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")


def _after_commit(target: Cluster, report: GroupReport, answer: Mapping[Place, int] | BrokerError) -> GroupReport:
    if isinstance(answer, BrokerError):
        return _unsynced(report, str(answer))
    refused = {place: code for place, code in answer.items() if code}
    report = report._replace(committed=len(answer) - len(refused))
    if not refused:
        return report
    return _unsynced(report, str(why_uncommitted(target, *min(refused.items()))))


def _may_pass(answer: object) -> bool:
    """Whether something failed that may succeed the next time."""
    if isinstance(answer, BrokerError):
        return answer.code not in codes.FORBIDDEN
    return not isinstance(answer, Mapping) or bool({*answer.values()} - {codes.NONE} - codes.FORBIDDEN)


def _unsynced(report: GroupReport, why: str) -> GroupReport:
    """What came first stands first."""
    return report._replace(unsynced="; ".join(filter(None, (report.unsynced, why))))


_workers: dict[tuple[object, ...], GroupWorker] = {}


def run_task(task: GroupTask) -> list[GroupReport]:
    """In a Python worker that Spark uses again and again. After a failure all is opened anew."""
    key = (task.flow, task.source, task.target, task.storage, task.other_way, task.checkpoints_topic)
    worker = _workers.pop(key, None) or GroupWorker(task)
    gc.disable()  # a round makes very many small things, and no circles
    try:
        reports = worker.run(task)
    except SparkmirrorError as error:
        worker.close()
        return [GroupReport(group, unknown=str(error)) for group in task.groups]
    finally:
        gc.enable()
    _workers[key] = worker
    return reports
