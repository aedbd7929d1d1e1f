"""Watches the ends of a topic's partitions while something happens to its mirror."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable

import psutil

from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from tests.support.leases import address

EVERY_S = 0.05


def copying(processes: Iterable[psutil.Process], servers: str) -> list[psutil.Process]:
    """Python workers among them that are connected to the target."""
    port = int(servers.rpartition(":")[2])
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            is_worker = "daemon" in str(process.cmdline())
            if is_worker and any(c.raddr and c.raddr.port == port for c in process.net_connections("tcp")):
                found.append(process)
    return found


class Growth:
    """When each partition last grew, and the longest time that it did not since `begin_anew`."""

    def __init__(self, servers: str, topic: str) -> None:
        self._cluster = Cluster(address(servers))
        self._topic = topic
        self._ends: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.grew_at: dict[int, float] = {}
        self.gaps: dict[int, float] = {}

    def __enter__(self) -> Growth:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)
        self._cluster.end()

    def begin_anew(self) -> None:
        self.gaps = {}

    def still(self, for_s: float) -> set[int]:
        """Partitions that have not grown for so long."""
        now = time.monotonic()
        return {partition for partition, at in self.grew_at.items() if now - at >= for_s}

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        leaders = self._cluster.fetch_metadata([self._topic]).topics[self._topic].leaders
        found = list_offsets(self._cluster, {(self._topic, p): leader for p, leader in leaders.items()}, LATEST)
        now = time.monotonic()
        for (_, partition), end in found.items():
            if end != self._ends.get(partition):
                self.gaps[partition] = max(self.gaps.get(partition, 0.0), now - self.grew_at.get(partition, now))
                self._ends[partition], self.grew_at[partition] = end, now
