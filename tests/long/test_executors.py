"""A Spark cluster's executors share the work, and when one dies at any moment its partitions go on at once."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Pair
from tests.support.growth import Growth, copying
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.leases import ends
from tests.support.load import plain_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.spark_ui import SparkUi
from tests.support.standalone import ON_LOOPBACK, Standalone

KILLS = int(os.environ.get("KILLS", "5"))
LEASE_S = 4
CALM_ROUND_S = 30 * LEASE_S  # an executor that comes late gets tasks with the next round


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    cluster = Standalone(tmp_path)
    try:
        cluster.start(2)
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.timeout(300 + 90 * KILLS)
def test_two_executors_share_the_tasks_and_a_killed_one_s_partitions_move(
    pair: Pair, topic: str, standalone: Standalone
) -> None:
    seed = int(os.environ.get("SEED", random.randrange(1_000_000)))
    print(f"SEED={seed}")
    moments = random.Random(seed)
    create_topic(pair.source, topic, 4)
    remote = f"A.{topic}"
    extra = {
        "spark.master": standalone.url,
        **ON_LOOPBACK,
        "spark.ui.enabled": "true",
        "lease.seconds": str(LEASE_S),
        "tasks.max": "4",
        "tasks.min": "4",
    }
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        ui = SparkUi(mirror)
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(4000)))
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 4000, "the copy", 90)

        def at_work() -> set[str]:
            """Executors that have finished tasks; nothing if one of those that are there has not."""
            stages = ui.get("stages?details=true")
            ends = {
                t["executorId"] for s in stages for t in (s.get("tasks") or {}).values() if t["status"] == "SUCCESS"
            }
            alive = {each["id"] for each in ui.get("executors") if each["isActive"]} - {"driver"}
            return alive if alive <= ends else set()

        def has(count: int) -> Callable[[], bool]:
            return lambda: total(pair.target, remote) == count

        def both_work_and_are_not(before: set[str]) -> Callable[[], bool]:
            return lambda: len(at_work()) == 2 and at_work() != before

        before: set[str] = set()
        for kill in range(KILLS):
            await_condition(both_work_and_are_not(before), "tasks on both executors", CALM_ROUND_S + 60)
            before = at_work()
            time.sleep(moments.uniform(0, 2 * LEASE_S))  # any moment of a round
            moments.choice(standalone.executors()).kill()
            began = time.monotonic()
            produce(pair.source, topic, ({"value": b"%d %d" % (kill, i), "partition": i % 4} for i in range(4000)))
            await_condition(has((kill + 2) * 4000), "the copy after the kill", 30)
            print(f"all partitions went on {time.monotonic() - began:.1f} s after an executor was killed")
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("how", "most_s"), [("dies", 10.0), ("vanishes", 2.5 * LEASE_S + 30)])
def test_what_slots_are_left_are_used_at_once(
    pair: Pair, topic: str, standalone: Standalone, how: str, most_s: float
) -> None:
    """An executor that vanishes without a word is given up by Spark after 15 to 20 s."""
    create_topic(pair.source, topic, 4)
    remote = f"{topic[-6:]}.{topic}"
    extra = {
        "spark.master": standalone.url,
        **ON_LOOPBACK,
        "lease.seconds": str(LEASE_S),
        "tasks.max": "4",
        "tasks.min": "4",
    }
    text = properties(pair.source, pair.target, topic, extra, alias=topic[-6:])

    def copy_on_each() -> list[int]:
        return [len(copying(w.children(recursive=True), pair.target)) for w in standalone.workers()]

    with MirrorProcess(text), plain_load(pair.source, topic, 4, age_ms=0, pause_s=0.05):
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) > 500, "the copy", 180)
        with Growth(pair.target, remote) as growth:
            await_condition(lambda: copy_on_each() == [2, 2], "a round on both", 120)
            growth.begin_anew()
            if how == "dies":
                standalone.lose_worker()
            else:
                standalone.freeze_executor()
            lost_at = time.monotonic()
            await_condition(lambda: all(at > lost_at + 1 for at in growth.grew_at.values()), "all to go on", 90)
            print(f"all go on {time.monotonic() - lost_at:.1f} s after half of the slots were lost")
            time.sleep(3 * LEASE_S)
            assert not growth.still(5), "and stay"
            print(f"longest gaps: {growth.gaps}")
            assert max(growth.gaps.values()) < most_s


@pytest.mark.timeout(400)
def test_a_cluster_that_asks_for_a_secret_lets_the_mirror_in_and_no_process_names_it(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    secret = f"between-{topic}"
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(500)))
    remote = f"{topic[-6:]}.{topic}"
    cluster = Standalone(tmp_path, secret)
    try:
        cluster.start(1)
        extra = {"spark.master": cluster.url, **ON_LOOPBACK, "spark.authenticate.secret": secret}
        text = properties(pair.source, pair.target, topic, extra, alias=topic[-6:])
        with MirrorProcess(text) as mirror:
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 500, "it", 180)
            processes = [*mirror.tree(), *cluster.processes()]
            lines = []
            for process in processes:
                with contextlib.suppress(psutil.Error):  # it has ended
                    lines.append(" ".join(process.cmdline()))
            assert any("CoarseGrainedExecutorBackend" in line for line in lines)
            assert [line for line in lines if secret in line] == []
            assert mirror.terminate()[0] == 0
    finally:
        cluster.stop()


@pytest.mark.timeout(300)
def test_a_single_core_is_a_single_slot(pair: Pair, topic: str, tmp_path: Path) -> None:
    cluster = Standalone(tmp_path)
    create_topic(pair.source, topic, 4)
    remote = f"{topic[-6:]}.{topic}"
    try:
        cluster.start(1, cores=1)
        extra = {
            "spark.master": cluster.url,
            **ON_LOOPBACK,
            "lease.seconds": str(LEASE_S),
            "tasks.max": "4",
            "tasks.min": "4",
        }
        extra |= {"sync.group.offsets.enabled": "false", "emit.checkpoints.enabled": "false"}
        text = properties(pair.source, pair.target, topic, extra, alias=topic[-6:])
        with MirrorProcess(text), plain_load(pair.source, topic, 4, age_ms=0, pause_s=0.05):
            await_condition(lambda: remote in topics(pair.target) and len(ends(pair.target, remote)) == 4, "it", 180)
            await_condition(lambda: all(end > 100 for end in ends(pair.target, remote).values()), "all partitions", 60)
            with Growth(pair.target, remote) as growth:
                time.sleep(5 * LEASE_S)
                print(f"longest gaps: {growth.gaps}")
                assert len(growth.gaps) == 4 and max(growth.gaps.values()) < 10 and not growth.still(5)
    finally:
        cluster.stop()
