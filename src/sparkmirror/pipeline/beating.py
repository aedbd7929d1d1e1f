"""Heartbeats that a task emits beside its copy, each on its own thread: a target that hangs delays no other."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence

from sparkmirror.copy.lease import Heartbeat
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.heartbeats import HeartbeatTopic

log = logging.getLogger("sparkmirror.heartbeats")

JOIN_S = 1.0


@contextlib.contextmanager
def beating(heartbeats: Sequence[Heartbeat]) -> Iterator[None]:
    """Emit them until the end of the block."""
    over = threading.Event()
    threads = [threading.Thread(target=_beat, args=(heartbeat, over), daemon=True) for heartbeat in heartbeats]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(JOIN_S)


def next_beat(after_s: float, interval_s: float) -> float:
    """The beat is that of the clock, so that one lease goes on where the last one ended."""
    return (after_s // interval_s + 1) * interval_s


def _beat(heartbeat: Heartbeat, over: threading.Event) -> None:
    with Cluster(heartbeat.target) as cluster:
        topic = HeartbeatTopic(cluster, heartbeat.topic, heartbeat.source)
        due, failed = next_beat(time.time(), heartbeat.interval_s), ""
        while not over.wait(max(0.0, due - time.time())):
            due = next_beat(max(due, time.time()), heartbeat.interval_s)  # a wait may end a little early
            try:
                topic.emit(int(time.time() * 1000))
                failed = ""
            except SparkmirrorError as error:
                if str(error) != failed:
                    log.warning("a heartbeat for %s->%s failed: %s", heartbeat.source, heartbeat.target.alias, error)
                failed = str(error)
