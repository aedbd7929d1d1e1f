"""Rounds of consumer groups without Spark: their tasks run here. And groups as a test makes them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sparkmirror.control.group_keeper import GroupKeeper
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.groups.work import GroupWorker
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.local_mirror import LocalMirror, mirroring

Place = tuple[str, int]

# Internal topics for one broker, and intervals that `turn` does not wait for.
KEYS = {
    "sync.group.offsets.enabled": "true",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "emit.heartbeats.enabled": "false",
    "groups.exclude": "",
}


def commit(servers: str, group: str, offsets: Mapping[Place, int], metadata: str = "") -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    try:
        wanted = [TopicPartition(topic, p, offset, metadata) for (topic, p), offset in offsets.items()]
        consumer.commit(offsets=wanted, asynchronous=False)
    finally:
        consumer.close()


class Groups:
    """The groups of a mirror's flow. Each round finds the groups anew and does all that is due."""

    def __init__(self, mirror: LocalMirror) -> None:
        self.keeper = GroupKeeper(mirror.keeper, mirror.other_way, self._run, lambda: 2)
        self._clock = itertools.count(1, 100_000)
        self._workers: list[GroupWorker] = []

    def round(self) -> dict[str, GroupReport]:
        self.keeper.turn(float(next(self._clock)))
        return self.keeper.reports

    def close(self) -> None:
        self.keeper.stop()
        for worker in self._workers:
            worker.close()

    def _run(self, tasks: Sequence[GroupTask]) -> list[GroupReport]:
        while len(self._workers) < len(tasks):
            self._workers.append(GroupWorker(tasks[0]))
        return [
            report
            for worker, task in zip(self._workers, tasks, strict=False)
            for report in worker.run(GroupTask.from_json(task.to_json()))
        ]


@contextlib.contextmanager
def following(
    pair: Pair, topic: str, folder: Path, extra: Mapping[str, str] | None = None, partitions: int = 2
) -> Iterator[LocalMirror]:
    keys = KEYS | {"groups": f"{topic}.*"} | dict(extra or {})
    file = write_flow(folder, pair.source, pair.target, topic, keys)
    with mirroring(file) as mirror:
        mirror.await_topics(partitions)
        yield mirror


@contextlib.contextmanager
def groups_of(mirror: LocalMirror) -> Iterator[Groups]:
    groups = Groups(mirror)
    try:
        yield groups
    finally:
        groups.close()
