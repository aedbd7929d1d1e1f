"""One flow's consumer groups: finds them, gives them to Spark in tasks now and then, and knows what became of each.

A thread of its own: a source that does not answer holds up neither the data nor another flow's groups.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.group_deletes import GroupDeletes
from sparkmirror.control.group_marks import GroupMarksKeeper
from sparkmirror.control.log import complaint_level
from sparkmirror.control.part import Part
from sparkmirror.errors import SparkmirrorError
from sparkmirror.groups.marks import Round
from sparkmirror.groups.names import Names
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.groups import Listing, list_groups
from sparkmirror.topology.choose import choose_group_filter, choose_policy
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.groups")

TICK_S = 0.5
REFRESH_AGAIN_S = 5.0
FINISH_S = 15.0  # for a round that is under way
UNSUPPORTED = ("share", "streams")  # their offsets are not kept as those of consumers are

RunTasks = Callable[[Sequence[GroupTask]], list[GroupReport]]


class GroupKeeper:
    """`run_tasks` blocks until all are done. `tasks`: how many there may be at once."""

    def __init__(self, keeper: FlowKeeper, other_way: Storage, run_tasks: RunTasks, tasks: Callable[[], int]) -> None:
        self.flow: FlowConfig = keeper.flow
        self.reports: dict[str, GroupReport] = {}  # of the last round
        self._keeper = keeper
        self._other_way = other_way
        self._run_tasks = run_tasks
        self._tasks = tasks
        self._policy = choose_policy(self.flow)
        self._filter = choose_group_filter(self.flow)
        self._checkpoints_topic = self._policy.checkpoints_topic(self.flow.source.alias)
        self._source = Cluster(flow_address(self.flow.source, self.flow))
        self._target = Cluster(flow_address(self.flow.target, self.flow))
        self._marks = GroupMarksKeeper(self.flow, self._target)
        self._deletes = GroupDeletes(self.flow, self._source, self._target, self._checkpoints_topic, keeper.guard)
        self._groups: tuple[str, ...] = ()
        self._cluster = ""  # the source's id, when groups were last looked for
        self._left_out: dict[str, str] = {}
        self._has_looked = False
        self._complaint = self._trouble = ""
        self._due = Due(self.flow)
        self._turning = threading.Lock()
        self._stop = threading.Event()
        self.part = Part(f"groups {self.flow.name}", self._run)
        keeper.parts.append(self.part)

    def start(self) -> None:
        self.part.start()

    def stop(self) -> None:
        self._stop.set()
        self.part.end(1.0)
        self._source.end()
        self._target.end()

    def _run(self) -> None:
        while not self._stop.wait(TICK_S):
            with self._turning:
                if not self._keeper.view.leads:
                    self._marks.forget()
                elif self._keeper.view.is_active and self._keeper.view.landscape is not None:
                    self._try_turn(time.monotonic())

    @property
    def is_busy(self) -> bool:
        """Whether a turn may be under way. One that begins later heeds what the flow's view says now."""
        return self._turning.locked()

    def finish(self) -> None:
        """All that comes round sooner or later, once more: the mirror ends, and what it has copied stays as it is."""
        self._stop.set()
        has_ended = self.part.end(FINISH_S)
        if self._keeper.view.is_active and has_ended:
            self._due = Due(self.flow)
            self._try_turn(time.monotonic())

    def _try_turn(self, now: float) -> None:
        try:
            self.turn(now)
            self._complain("")
        except SparkmirrorError as error:
            self._complain(f"consumer groups: {error}; trying again")

    def _complain(self, what: str) -> None:
        """Once, until all is well again: which broker was asked first is no news."""
        if what and not self._complaint and not self._stop.is_set():
            log.warning("flow %s: %s", self.flow.name, what)
        self._complaint = what

    def turn(self, now: float) -> None:
        """Do what is due. Groups are looked for just before they are dealt with."""
        if not self._due.has_round(now):
            return
        if self._due.refresh(now):
            self._try_to_find_groups(now)
        emit, sync = self._due.round(now)
        at, began = time.time(), time.monotonic()  # what groups commit from now on is the next round's
        reports = self._run_tasks(self._plan(emit=emit, sync=sync)) if self._groups else []
        self._take(reports)
        round_ = Round(emit, sync, int(at * 1000), round(time.monotonic() - began, 3), self._cluster)
        self._marks.take(round_, reports, self._left_out)

    def _try_to_find_groups(self, now: float) -> None:
        """What is known is followed on if they can't be looked for."""
        level = logging.WARNING
        try:
            trouble = self._find_groups(now)
        except SparkmirrorError as error:
            if not self._has_looked:
                raise
            trouble, level = str(error), complaint_level(error)
        if trouble and trouble != self._trouble:
            log.log(level, "flow %s: not all groups can be looked for: %s", self.flow.name, trouble)
        self._trouble = trouble

    def _find_groups(self, now: float) -> str:
        """What keeps it from knowing all; groups of brokers that do not answer may be as well as ever."""
        self._cluster = self._source.fetch_metadata([]).cluster_id
        listing = list_groups(self._source)
        wanted = self._filter.should_replicate_group
        groups = choose_groups(listing, wanted)
        if listing.failed:
            groups = tuple(sorted({*groups, *self._groups, *filter(wanted, self._marks.followed())}))
        self._groups, self._left_out = groups, unsupported_groups(listing, wanted)
        self._has_looked = True
        if listing.failed:
            return "; ".join(f"broker {node}: {why}" for node, why in listing.failed.items())
        if self.flow.groups.sync_deletes:
            gone = {g: mark for g, mark in self._marks.synced().items() if g not in listing.groups}
            self._left_out |= self._deletes.apply(gone, self._remotes())
        self._due.refreshed(now)
        return ""

    def _remotes(self) -> dict[str, str]:
        landscape = self._keeper.view.landscape
        return {pair.topic: pair.remote for pair in landscape.pairs} if landscape else {}

    def _plan(self, *, emit: bool, sync: bool) -> list[GroupTask]:
        landscape = self._keeper.view.landscape
        assert landscape is not None
        names = Names.of(
            landscape.pairs,
            landscape.source_topics,
            self._policy,
            self.flow.target.alias,
            shares_target=self.flow.shares_target,
        )
        retention_ms = self.flow.checkpoints_topic.retention_ms
        return [
            GroupTask(
                flow=self.flow.name,
                source=flow_address(self.flow.source, self.flow),
                target=flow_address(self.flow.target, self.flow),
                groups=part,
                names=names,
                storage=Storage.of(self.flow),
                other_way=self._other_way,
                checkpoints_topic=self._checkpoints_topic,
                emit=emit,
                sync=sync,
                rewind=self.flow.groups.sync_offsets_rewind,
                emit_again_ms=None if retention_ms is None else retention_ms // 2,
                claims_end=landscape.claims_end,
            )
            for part in split_evenly(self._groups, max(1, self._tasks()))
        ]

    def _take(self, reports: Iterable[GroupReport]) -> None:
        before = self.reports
        self.reports = {report.group: report for report in reports}
        for why, groups in new_reasons(before, self.reports).items():
            more = f" (and {len(groups) - 1:,} more)" if len(groups) > 1 else ""
            log.warning("flow %s: group %s%s: %s", self.flow.name, groups[0], more, why)


def new_reasons(before: Mapping[str, GroupReport], now: Mapping[str, GroupReport]) -> dict[str, list[str]]:
    """Groups by what could not be done for them, where that was not so the last time."""
    found: dict[str, list[str]] = {}
    for group, report in now.items():
        if report.why and (group not in before or before[group].why != report.why):
            found.setdefault(report.why, []).append(group)
    return found


class Due:
    """When what of a flow's groups is due."""

    def __init__(self, flow: FlowConfig) -> None:
        groups = flow.groups
        self._refresh_s = groups.refresh_interval_s
        self._emit_s = groups.checkpoints_interval_s
        self._sync_s = groups.sync_offsets_interval_s
        self._go_together = groups.sync_offsets_rewind and None not in (self._emit_s, self._sync_s)
        self._next = {"refresh": 0.0, "emit": 0.0, "sync": 0.0}

    def has_round(self, now: float) -> bool:
        wanted = (("emit", self._emit_s), ("sync", self._sync_s))
        return any(every_s is not None and now >= self._next[what] for what, every_s in wanted)

    def refresh(self, now: float) -> bool:
        """Once even if they are not to be looked for again; and soon if that did not succeed."""
        return self._is_due("refresh", REFRESH_AGAIN_S, now)

    def refreshed(self, now: float) -> None:
        self._next["refresh"] = now + (self._refresh_s or float("inf"))

    def round(self, now: float) -> tuple[bool, bool]:
        """Whether checkpoints are to be emitted, and offsets to be committed.

        Where groups may go back both come together: a checkpoint proves where a commit has put its group.
        """
        emit, sync = self._is_due("emit", self._emit_s, now), self._is_due("sync", self._sync_s, now)
        if self._go_together:
            emit = sync = emit or sync
        return emit, sync

    def _is_due(self, what: str, every_s: float | None, now: float) -> bool:
        if every_s is None or now < self._next[what]:
            return False
        self._next[what] = now + every_s
        return True


def choose_groups(listing: Listing, wanted: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(sorted(group for group, found in listing.groups.items() if found.reads_topics and wanted(group)))


def unsupported_groups(listing: Listing, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Groups that are asked for and can't be followed, with the reason: MirrorMaker 2 passes them over, too."""
    return {
        group: f"{found.type} groups are not supported"
        for group, found in sorted(listing.groups.items())
        if found.type in UNSUPPORTED and wanted(group)
    }


def split_evenly(groups: Sequence[str], parts: int) -> list[tuple[str, ...]]:
    """Blocks of neighbours, the first ones by one longer, as MirrorMaker 2 deals them out."""
    parts = min(parts, len(groups))
    size, longer = divmod(len(groups), parts)
    edges = [i * size + min(i, longer) for i in range(parts + 1)]
    return [tuple(groups[a:b]) for a, b in pairwise(edges)]
