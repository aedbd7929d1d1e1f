"""The CPU time and memory of a process with everything it started, including what has ended meanwhile.

A process that ends hands its CPU time to the parent that waits for it, and from then on it shows there as
`reaped`. So the sum of own and reaped over all living members loses nothing, but for those nobody waited for:

    sample n      root (reaped 0) -- java (5 s) -- worker (2 s)
    sample n+1    root (reaped 7)                                  java was waited for: all is in root
    sample n+1    root (reaped 0)                                  nobody waited: 7 s are added by hand
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

import psutil

INTERVAL_S = 0.25


class Identity(NamedTuple):
    """Pids are used again; with the time of birth they are not."""

    pid: int
    born: float


@dataclass(frozen=True, slots=True)
class Use:
    """What one process had used when it was looked at."""

    parent: int
    own_s: float
    reaped_s: float
    rss_bytes: int

    @property
    def total_s(self) -> float:
        return self.own_s + self.reaped_s


Sample = Mapping[Identity, Use]


def unaccounted_s(before: Sample, after: Sample) -> float:
    """CPU time of processes that ended between two samples and that no living member has as reaped."""
    gone_under: dict[Identity | None, float] = {}
    for identity, use in before.items():
        if identity not in after:
            heir = _nearest_living(identity, before, after)
            gone_under[heir] = gone_under.get(heir, 0.0) + use.total_s
    missing = 0.0
    for heir, seconds in gone_under.items():
        inherited = after[heir].reaped_s - before[heir].reaped_s if heir else 0.0
        missing += max(0.0, seconds - inherited)
    return missing


def _nearest_living(gone: Identity, before: Sample, after: Sample) -> Identity | None:
    """The first ancestor that is in both samples, by the family as it was before."""
    by_pid = {identity.pid: identity for identity in before}
    current: Identity | None = gone
    while current is not None and current not in after:
        current = by_pid.get(before[current].parent)
    return current


class TreeMeter:
    """Watches a tree from a thread of its own. Members that get another parent stay members."""

    def __init__(self, root: int, interval_s: float = INTERVAL_S) -> None:
        self.interval_s = interval_s
        self._members: dict[Identity, psutil.Process] = {}
        self._sample: Sample = {}
        self._peak_rss = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tree-meter", daemon=True)
        process = psutil.Process(root)
        # What the root had used by now is not what it is watched for.
        before = _look_at(process)
        self._unaccounted_s = -before.total_s if before else 0.0
        self._members[Identity(root, process.create_time())] = process

    def __enter__(self) -> Self:
        self._take_sample()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def cpu_s(self) -> float:
        """CPU time of the tree up to now, without what the root had used before it was watched."""
        with self._lock:
            self._take_sample()
            return self._unaccounted_s + sum(use.total_s for use in self._sample.values())

    def reset_peak(self) -> None:
        with self._lock:
            self._peak_rss = 0
            self._take_sample()

    @property
    def peak_rss_bytes(self) -> int:
        """The largest sum of resident memory seen since `reset_peak`. Pages that forks share count for each."""
        return self._peak_rss

    def living(self) -> list[psutil.Process]:
        with self._lock:
            self._take_sample()
            return [self._members[identity] for identity in self._sample]

    def _watch(self) -> None:
        while not self._stopping.wait(self.interval_s):
            with self._lock:
                self._take_sample()

    def _take_sample(self) -> None:
        for identity, process in list(self._members.items()):
            if self._is_top(identity):
                self._adopt_children(process)
        found = {identity: use for identity, p in self._members.items() if (use := _look_at(p)) is not None}
        self._unaccounted_s += unaccounted_s(self._sample, found)
        self._members = {identity: p for identity, p in self._members.items() if identity in found}
        self._sample = found
        self._peak_rss = max(self._peak_rss, sum(use.rss_bytes for use in found.values()))

    def _is_top(self, identity: Identity) -> bool:
        """The root, or one that lost its parent. Others are found from there: each look costs a pass over all pids."""
        use = self._sample.get(identity)
        return use is None or all(use.parent != member.pid for member in self._members)

    def _adopt_children(self, process: psutil.Process) -> None:
        try:
            for child in process.children(recursive=True):
                self._members.setdefault(Identity(child.pid, child.create_time()), child)
        except psutil.NoSuchProcess:
            return


def _look_at(process: psutil.Process) -> Use | None:
    try:
        if not process.is_running():
            return None
        with process.oneshot():
            times = process.cpu_times()
            own = times.user + times.system
            reaped = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            rss = 0 if process.status() == psutil.STATUS_ZOMBIE else process.memory_info().rss
            return Use(process.ppid(), own, reaped, rss)
    except psutil.NoSuchProcess:
        return None
