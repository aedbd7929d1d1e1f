"""Sets the demo's stage: clusters, topics with some records, the mirror. What it opens, the given stack closes."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

from sparkmirror.cli.demo.load import Load, create_topics
from sparkmirror.cli.demo.mirror import MirrorProcess
from sparkmirror.cli.demo.screen import Note, Screen
from sparkmirror.cli.demo.topics import SOURCE, TARGET, TOPICS
from sparkmirror.cli.demo.watch import EndsProbe
from sparkmirror.embedded.cluster import KafkaCluster, start_clusters
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.ports import is_free
from sparkmirror.errors import SetupError

PORTS = {SOURCE: 19092, TARGET: 29092}  # config/connect-mirror-maker.properties names them too

HISTORY_S = 1.0  # so much load is there before the mirror starts
START_S = 120.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    source: str
    target: str
    load: Load
    mirror: MirrorProcess
    probe: EndsProbe


def set_stage(screen: Screen, stack: ExitStack) -> Stage:
    with screen.step("Starting two Kafka clusters") as note:
        mirror = MirrorProcess()
        stack.callback(mirror.close)
        source, target = _start_clusters(mirror, stack, note)
    screen.line(f"  {SOURCE} is at {source}, {TARGET} at {target}")
    with screen.step(f"Writing the first records to {SOURCE}"):
        create_topics(source, TOPICS)
        load = Load(source, TOPICS)
        stack.callback(load.close)
        load.write(HISTORY_S)
    stage = Stage(source=source, target=target, load=load, mirror=mirror, probe=EndsProbe(source, target, TOPICS))
    with screen.step(f"Starting Spark and the mirror {SOURCE}->{TARGET}") as note:
        stack.callback(mirror.stop)
        mirror.start(source, target)
        _wait_for_history(stage, note)
    return stage


def _start_clusters(mirror: MirrorProcess, stack: ExitStack, note: Note) -> tuple[str, str]:
    """On the ports that the sample file names, unless somebody has them.

    The brokers' data is thrown away, so they are killed at the end. What a killed JVM leaves goes to the demo's folder.
    """
    flags = (*STOCK_JVM_FLAGS, *mirror.java_flags)
    source, target = (
        KafkaCluster(name=name, ports=[port] if is_free(port) else None, jvm_flags=flags, progress=note)
        for name, port in PORTS.items()
    )
    start_clusters(source, target)
    for cluster in (source, target):
        stack.callback(cluster.stop, deadline_s=0)
    return source.bootstrap_servers, target.bootstrap_servers


def _wait_for_history(stage: Stage, note: Note) -> None:
    """The mirror runs when it has copied what was there."""
    until = time.monotonic() + START_S
    while any(ends.lag for ends in stage.probe.fetch().values()):
        stage.mirror.look()
        note("copying the first records" if stage.mirror.spark_ui else "Spark starts")
        if time.monotonic() > until:
            raise SetupError(f"The mirror was not ready after {START_S:.0f} s. {stage.mirror.tail()}")
        time.sleep(POLL_S)
    stage.mirror.look()
