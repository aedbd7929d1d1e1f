"""The demo's steps, one after the other. What each of them opens, the stack closes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from sparkmirror.cli.demo_compare import compare
from sparkmirror.cli.demo_gauges import Ends, Gauge, Row, make_rows
from sparkmirror.cli.demo_load import Load, create_topics
from sparkmirror.cli.demo_mirror import MirrorProcess
from sparkmirror.cli.demo_screen import Note, Screen
from sparkmirror.cli.demo_table import draw_table, plain_line, plain_table
from sparkmirror.cli.demo_topics import SOURCE, TARGET, TOPICS
from sparkmirror.cli.demo_watch import EndsProbe, LatencyWatch
from sparkmirror.embedded.cluster import KafkaCluster, start_clusters
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.ports import is_free
from sparkmirror.errors import MirrorError, SetupError

# config/connect-mirror-maker.properties names them too.
PORTS = {SOURCE: 19092, TARGET: 29092}

HISTORY_S = 1.0  # so much load is there before the mirror starts
TICK_S = 0.5
LINE_EVERY_S = 5.0
START_S = 90.0
STANDSTILL_S = 30.0
TRICKLE = 0.01  # of the load, with --keep: something to see that fills no disk


class Story:
    def __init__(self, screen: Screen, stack: ExitStack) -> None:
        self._screen = screen
        self._stack = stack
        self._gauges = {topic.name: Gauge() for topic in TOPICS}
        self._ends: dict[str, Ends] = {}

    def set_up(self) -> None:
        with self._screen.step("Starting two Kafka clusters") as note:
            self._mirror = MirrorProcess()
            self._stack.callback(self._close_mirror)
            self._source, self._target = self._start_clusters(note)
        self._screen.line(f"  {SOURCE} is at {self._source}, {TARGET} at {self._target}")
        with self._screen.step(f"Writing the first records to {SOURCE}"):
            create_topics(self._source, TOPICS)
            self._load = Load(self._source, TOPICS)
            self._stack.callback(self._load.close)
            self._load.write(HISTORY_S)
        self._probe = EndsProbe(self._source, self._target, TOPICS)
        with self._screen.step(f"Starting Spark and the mirror {SOURCE}->{TARGET}") as note:
            self._start_mirror(note)

    def _start_clusters(self, note: Note) -> tuple[str, str]:
        """On the ports that the sample file names, unless somebody has them."""
        flags = (*STOCK_JVM_FLAGS, f"-Djava.io.tmpdir={self._mirror.scratch}")
        clusters = [
            KafkaCluster(name=name, ports=[port] if is_free(port) else None, jvm_flags=flags, progress=note)
            for name, port in PORTS.items()
        ]
        start_clusters(*clusters)
        for cluster in clusters:
            self._stack.callback(cluster.stop)
        # Before the clusters: a mirror whose brokers are gone would wait for them.
        self._stack.callback(self._close_mirror)
        return clusters[0].bootstrap_servers, clusters[1].bootstrap_servers

    def _close_mirror(self) -> None:
        if self._mirror is not None:
            self._mirror.close()
