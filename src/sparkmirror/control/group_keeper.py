"""One flow's consumer groups: finds them, gives them to Spark in tasks now and then, and knows what became of each.

A thread of its own: a source that does not answer holds up neither the data nor another flow's groups.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.errors import SparkmirrorError
from sparkmirror.groups.names import Names
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.groups import Listing, list_groups
from sparkmirror.topology.choose import choose_group_filter, choose_policy
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.groups")

TICK_S = 1.0

RunTasks = Callable[[Sequence[GroupTask]], list[GroupReport]]


@dataclass(slots=True)
class GroupView:
    """What is known of the groups. `synced_at`: when each was last dealt with wholly, in seconds since 1970."""

    round_at: float = 0.0
    reports: dict[str, GroupReport] = field(default_factory=dict)
    synced_at: dict[str, float] = field(default_factory=dict)


class GroupKeeper:
    """`run_tasks` blocks until all are done. `tasks`: how many there may be at once."""

    def __init__(self, keeper: FlowKeeper, other_way: Storage, run_tasks: RunTasks, tasks: Callable[[], int]) -> None:
        self.flow: FlowConfig = keeper.flow
        self.view = GroupView()
        self._keeper = keeper
        self._other_way = other_way
        self._run_tasks = run_tasks
        self._tasks = tasks
        self._policy = choose_policy(self.flow)
        self._filter = choose_group_filter(self.flow)
        self._source = Cluster(flow_address(self.flow.source, self.flow))
        self._groups: tuple[str, ...] = ()
        self._due = Due(self.flow)
        self._turning = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"groups {self.flow.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:  # else Spark could not start
            self._thread.join(timeout=1.0)
        self._source.close()

    def _run(self) -> None:
        while not self._stop.wait(TICK_S):
            with self._turning:
                if self._keeper.view.is_active and self._keeper.view.landscape is not None:
                    try:
                        self.turn(time.monotonic())
                    except SparkmirrorError as error:
                        log.warning("flow %s: consumer groups: %s; trying again", self.flow.name, error)

    @property
    def is_busy(self) -> bool:
        """Whether a turn may be under way. One that begins later heeds what the flow's view says now."""
        return self._turning.locked()

    def turn(self, now: float) -> None:
        """Do what is due."""
        if self._due.refresh(now):
            self._groups = self._find_groups()
        emit, sync = self._due.emit(now), self._due.sync(now)
        if (emit or sync) and self._groups:
            self._take(self._run_tasks(self._plan(emit=emit, sync=sync)))

    def _find_groups(self) -> tuple[str, ...]:
        listing = list_groups(self._source)
        for node, why in listing.failed.items():
            log.warning("flow %s: groups of broker %d are not known: %s", self.flow.name, node, why)
        return choose_groups(listing, self._filter.should_replicate_group)

    def _plan(self, *, emit: bool, sync: bool) -> list[GroupTask]:
        landscape = self._keeper.view.landscape
        assert landscape is not None
        names = Names.of(landscape.pairs, landscape.source_topics, self._policy, self.flow.target.alias)
        return [
            GroupTask(
                flow=self.flow.name,
                source=flow_address(self.flow.source, self.flow),
                target=flow_address(self.flow.target, self.flow),
                groups=part,
                names=names,
                storage=Storage.of(self.flow),
                other_way=self._other_way,
                checkpoints_topic=self._policy.checkpoints_topic(self.flow.source.alias),
                emit=emit,
                sync=sync,
                rewind=self.flow.groups.sync_offsets_rewind,
            )
            for part in split_evenly(self._groups, max(1, self._tasks()))
        ]

    def _take(self, reports: Iterable[GroupReport]) -> None:
        now = time.time()
        before = self.view.reports
        self.view.reports = {report.group: report for report in reports}
        self.view.synced_at |= {group: now for group, report in self.view.reports.items() if not report.why}
        self.view.round_at = now
        for why, groups in new_reasons(before, self.view.reports).items():
            more = f" (and {len(groups) - 1:,} more)" if len(groups) > 1 else ""
            log.warning("flow %s: group %s%s: %s", self.flow.name, groups[0], more, why)


def new_reasons(before: Mapping[str, GroupReport], now: Mapping[str, GroupReport]) -> dict[str, list[str]]:
    """Groups by what could not be done for them, where that was not so the last time."""
    found: dict[str, list[str]] = {}
    for group, report in now.items():
        if report.why and (group not in before or before[group].why != report.why):
            found.setdefault(report.why, []).append(group)
    return found


def follows_groups(flow: FlowConfig) -> bool:
    """Names that stay both ways are not followed: a topic's records come from two logs then."""
    wanted = flow.groups.checkpoints_interval_s is not None or flow.groups.sync_offsets_interval_s is not None
    return wanted and not flow.naming.is_mutual


class Due:
    """When what of a flow's groups is due."""

    def __init__(self, flow: FlowConfig) -> None:
        groups = flow.groups
        self._refresh_s = groups.refresh_interval_s
        self._emit_s = groups.checkpoints_interval_s
        self._sync_s = groups.sync_offsets_interval_s
        self._next = {"refresh": 0.0, "emit": 0.0, "sync": 0.0}

    def refresh(self, now: float) -> bool:
        """Once even if they are not to be looked for again."""
        return self._is_due("refresh", self._refresh_s or float("inf"), now)

    def emit(self, now: float) -> bool:
        return self._is_due("emit", self._emit_s, now)

    def sync(self, now: float) -> bool:
        return self._is_due("sync", self._sync_s, now)

    def _is_due(self, what: str, every_s: float | None, now: float) -> bool:
        if every_s is None or now < self._next[what]:
            return False
        self._next[what] = now + every_s
        return True


def choose_groups(listing: Listing, wanted: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(sorted(group for group, found in listing.groups.items() if found.reads_topics and wanted(group)))


def split_evenly(groups: Sequence[str], parts: int) -> list[tuple[str, ...]]:
    """Blocks of neighbours, the first ones by one longer, as MirrorMaker 2 deals them out."""
    parts = min(parts, len(groups))
    size, longer = divmod(len(groups), parts)
    edges = [i * size + min(i, longer) for i in range(parts + 1)]
    return [tuple(groups[a:b]) for a, b in pairwise(edges)]
