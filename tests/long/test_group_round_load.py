"""10,000 groups with 10 partitions each: rounds of checkpoints and commits as the mirror's Spark job, measured.

Times and memory are printed: `pytest -s tests/long/test_group_round_load.py`. GROUPS as you like.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType

import psutil
import pytest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets
from sparkmirror.offsets.group_marks import GroupMarksTopic, LastRounds
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties

GROUPS = int(os.environ.get("GROUPS", "10000"))
PARTITIONS = 10
INTERVAL_S = 10
MOST_S = 10.0
ASK_EVERY_S = 3.0
MOST_WORKER_MB = 600
TASKS = 2

Offsets = dict[str, dict[tuple[str, int], Committed]]


class Memory(threading.Thread):
    """The largest resident size of any Python process of the mirror's, and of all its processes together, in MB."""

    def __init__(self, mirror: MirrorProcess) -> None:
        super().__init__(daemon=True)
        self.largest = self.together = 0.0
        self._mirror = mirror
        self._stop_it = threading.Event()

    def __enter__(self) -> Memory:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stop_it.set()
        self.join()

    def run(self) -> None:
        while not self._stop_it.wait(1.0):
            sizes = {}
            for process in self._mirror.tree():
                try:
                    sizes[process.pid] = (process.name(), process.memory_info().rss / 1e6)
                except psutil.Error:
                    continue
            self.together = max(self.together, sum(size for _, size in sizes.values()))
            self.largest = max([self.largest, *(size for name, size in sizes.values() if "java" not in name)])


@pytest.mark.timeout(500)
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_rounds_of_many_groups(pair: Pair, topic: str, preserve: str) -> None:
    alias = f"load{preserve}"
    remote = f"{alias}.{topic}"
    create_topic(pair.source, topic, PARTITIONS)
    produce(
        pair.source, topic, ({"value": b"", "partition": i % PARTITIONS} for i in range((GROUPS + 10) * PARTITIONS))
    )
    extra = KEYS | {
        "groups": f"{topic}.*",
        "offsets.preserve": preserve,
        "tasks.max": str(TASKS),
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": str(INTERVAL_S),
        "sync.group.offsets.interval.seconds": str(INTERVAL_S),
    }

    def offsets(of: str, more: int) -> Offsets:
        return {f"{topic}-{i}": {(of, p): Committed(i + more) for p in range(PARTITIONS)} for i in range(GROUPS)}

    took: dict[str, LastRounds] = {}
    with (
        Cluster(ClusterAddress(alias=alias, bootstrap=(pair.source,))) as source,
        Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as target,
        MirrorProcess(properties(pair.source, pair.target, topic, extra, alias=alias)) as mirror,
        Memory(mirror) as memory,
    ):
        marks = GroupMarksTopic(target, Storage.named(alias))

        def next_round(what: str) -> None:
            """One that begins from now on, and knows all groups. Who asks all the time would slow it down."""
            last = marks.read().rounds.checkpoint_ms

            def is_done() -> bool:
                time.sleep(ASK_EVERY_S)
                found = marks.read()
                took[what] = found.rounds
                return found.rounds.checkpoint_ms > last and len(found.groups) == GROUPS

            await_condition(is_done, what, 120)

        everything = (GROUPS + 10) * PARTITIONS
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == everything, "it", 120)
        commit_group_offsets(source, offsets(topic, 0), deadline_s=60)
        next_round("all groups are new")
        await_condition(lambda: fetch_group_offsets(target, offsets(remote, 0)) == offsets(remote, 0), "commits", 60)
        next_round("nothing is new")
        commit_group_offsets(source, offsets(topic, 5), deadline_s=60)
        next_round("all have moved")
        next_round("nothing is new again")
        assert fetch_group_offsets(target, offsets(remote, 0)) == offsets(remote, 5)
        found = marks.read()
    print(f"\n{GROUPS:,} groups x {PARTITIONS} partitions, {TASKS} tasks, offsets.preserve={preserve}")
    for what, rounds in took.items():
        print(f"{what:22} {rounds.seconds:6.2f} s")
    print(f"largest Python process {memory.largest:,.0f} MB, all of the mirror {memory.together:,.0f} MB")
    assert not [mark.why for mark in found.groups.values() if mark.why]
    assert max(rounds.seconds for rounds in took.values()) < MOST_S
    assert memory.largest < MOST_WORKER_MB
