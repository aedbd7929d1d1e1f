"""A Python worker that stands still: its partitions go to others when its lease is over, and nobody waits for it."""

from __future__ import annotations

import signal
import time

import pytest

from tests.conftest import Pair
from tests.support.growth import Growth, copying
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, topics, total
from tests.support.load import plain_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

LEASE_S = 3.0
TASKS = 4
LONGEST_GAP_S = 1.5


@pytest.mark.timeout(300)
def test_a_stopped_worker_holds_up_its_own_partitions_alone_and_not_for_long(
    pair: Pair, topic: str, java_reader: JavaReader
) -> None:
    create_topic(pair.source, topic, TASKS)
    remote = f"{topic[-6:]}.{topic}"
    extra = {
        "lease.seconds": f"{LEASE_S:g}",
        "tasks.max": str(TASKS),
        "tasks.min": str(TASKS),
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",  # a task of consumer groups would be counted, too
    }
    text = properties(pair.source, pair.target, topic, extra, alias=topic[-6:])
    with MirrorProcess(text) as mirror:
        with plain_load(pair.source, topic, TASKS, age_ms=0, pause_s=0.03):
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) > 100, "it", 150)
            with Growth(pair.target, remote) as growth:
                time.sleep(LEASE_S)  # the first rounds are short, and a handover may be under way
                await_condition(lambda: len(copying(mirror.tree(), pair.target)) == TASKS, "a round", 30)
                growth.begin_anew()
                victim = copying(mirror.tree(), pair.target)[0]
                victim.send_signal(signal.SIGSTOP)
                frozen_at = time.monotonic()
                await_condition(lambda: bool(growth.still(LONGEST_GAP_S)), "a partition that stands still", 10)
                silent = growth.still(LONGEST_GAP_S)
                print(f"partition {silent} stands still")
                await_condition(lambda: not growth.still(1.0), "all to go on", 60)
                print(f"all go on {time.monotonic() - frozen_at:.1f} s after the worker was stopped")
                victim.send_signal(signal.SIGCONT)  # before its query is given up, and Spark kills it
                time.sleep(2 * LEASE_S)
                gaps = dict(growth.gaps)
                print(f"longest gaps: {gaps}")
        assert_same_log(java_reader, pair.source, topic, pair.target, remote, ends=True, await_s=20)
    assert len(silent) == 1
    assert all(gap < LONGEST_GAP_S for partition, gap in gaps.items() if partition not in silent)
    assert all(gaps[partition] < 2.5 * LEASE_S for partition in silent)
