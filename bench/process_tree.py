"""The CPU time and memory of a process with everything it started, including what has ended meanwhile.

A process that ends hands its CPU time to the parent that waits for it, and from then on it shows there as
`reaped`. What nobody waited for is lost to the system, so the last that was seen of it is kept here:

    sample n      root (reaped 0) -- java (5 s) -- worker (2 s)
    sample n+1    root (reaped 7)                                 java was waited for, and before that the worker
    sample n+1    root (reaped 5)                                 nobody waited for the worker: root has 5, not 7
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
    memory_bytes: int


Sample = Mapping[Identity, Use]


class Account:
    """Adds up samples. A living process counts with its own time and the larger of two figures for its heirs'
    bequests: what the system says it has reaped, and what was last seen of the descendants that are gone.

    The system's figure is the better one (it has the last moments, and what lived between two samples); ours is larger
    only if somebody was not waited for. Taking the larger makes no difference between "not yet" and "never".
    """

    def __init__(self) -> None:
        self._last: Sample = {}
        self._gone_s: dict[Identity | None, float] = {}

    @property
    def total_s(self) -> float:
        return sum(self._total_of(identity) for identity in self._last) + self._gone_s.get(None, 0.0)

    def add(self, sample: Sample) -> None:
        gone = [(identity, self._total_of(identity)) for identity in self._last if identity not in sample]
        for identity, seconds in gone:
            heir = self._nearest_living(identity, sample)
            self._gone_s[heir] = self._gone_s.get(heir, 0.0) + seconds
            self._gone_s.pop(identity, None)
        self._last = sample

    def _total_of(self, identity: Identity) -> float:
        use = self._last[identity]
        return use.own_s + max(use.reaped_s, self._gone_s.get(identity, 0.0))

    def _nearest_living(self, gone: Identity, sample: Sample) -> Identity | None:
        """The first ancestor that still lives, by the family as it was."""
        by_pid = {identity.pid: identity for identity in self._last}
        current: Identity | None = gone
        while current is not None and current not in sample:
            current = by_pid.get(self._last[current].parent)
        return current


class TreeMeter:
    """Watches a tree from a thread of its own. Members that get another parent stay members."""

    def __init__(self, root: int, interval_s: float = INTERVAL_S) -> None:
        self.interval_s = interval_s
        self._members: dict[Identity, psutil.Process] = {}
        self._sample: Sample = {}
        self._account = Account()
        self._peak_memory = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tree-meter", daemon=True)
        process = psutil.Process(root)
        # What the root had used by now is not what it is watched for.
        before = _look_at(process)
        self._before_s = before.own_s + before.reaped_s if before else 0.0
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
            return self._account.total_s - self._before_s

    def wake_ups(self) -> int:
        """How often the threads that live now were woken up so far."""
        return sum(_wake_ups_of(process.pid) for process in self.living())

    def reset_peak(self) -> None:
        with self._lock:
            self._peak_memory = 0
            self._take_sample()

    @property
    def peak_memory_bytes(self) -> int:
        """The largest sum of resident memory seen since `reset_peak`. Pages that forks share count once (PSS)."""
        return self._peak_memory

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
        # Parents come first, as they were found: who ends between the two looks is then never counted twice.
        found = {identity: use for identity, p in self._members.items() if (use := _look_at(p)) is not None}
        self._account.add(found)
        self._members = {identity: p for identity, p in self._members.items() if identity in found}
        self._sample = found
        self._peak_memory = max(self._peak_memory, sum(use.memory_bytes for use in found.values()))

    def _is_top(self, identity: Identity) -> bool:
        """The root, or one that lost its parent. Others are found from there: each look costs a pass over all pids."""
        use = self._sample.get(identity)
        return use is None or all(use.parent != member.pid for member in self._members)

    def _adopt_children(self, process: psutil.Process) -> None:
        # Compared by psutil, not by time of birth, which it tells anew when the clock is set.
        known = set(self._members.values())
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in process.children(recursive=True):
                if child not in known:
                    self._members[Identity(child.pid, child.create_time())] = child


def _wake_ups_of(pid: int) -> int:
    """A thread that waits for something switches of its own will."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            total += int(status.read_text().partition("\nvoluntary_ctxt_switches:")[2].split(None, 1)[0])
    return total


def _look_at(process: psutil.Process) -> Use | None:
    try:
        if not process.is_running():
            return None
        with process.oneshot():
            times = process.cpu_times()
            own = times.user + times.system
            reaped = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            parent, is_zombie = process.ppid(), process.status() == psutil.STATUS_ZOMBIE
        return Use(parent, own, reaped, 0 if is_zombie else process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return None
