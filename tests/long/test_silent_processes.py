"""Daemon, JVM and driver that stand still for a while: who copies goes on as long as it may, and all is well after."""

from __future__ import annotations

import contextlib
import signal
import time

import psutil
import pytest

from tests.conftest import Pair
from tests.support.growth import Growth
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, topics, total
from tests.support.load import plain_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

LEASE_S = 3.0
TASKS = 4
STOPPED_S = 12.0  # longer than any lease lasts
COPIES_ON = ("daemon", "jvm")


def find(mirror: MirrorProcess, who: str) -> psutil.Process:
    if who == "driver":
        return psutil.Process(mirror.process.pid)
    tree = mirror.tree()
    if who == "jvm":
        return next(p for p in tree if "java" in p.name())
    workers = {p.pid for p in tree if "daemon" in str(command_of(p))}
    return next(p for p in tree if p.pid in workers and p.ppid() not in workers)


def command_of(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it has just ended
        return []


@pytest.mark.timeout(400)
@pytest.mark.parametrize("who", ["daemon", "jvm", "driver"])
def test_a_process_that_stands_still_for_a_while_loses_and_doubles_nothing(
    pair: Pair, topic: str, java_reader: JavaReader, who: str
) -> None:
    create_topic(pair.source, topic, TASKS)
    remote = f"{topic[-6:]}.{topic}"
    extra = {
        "lease.seconds": f"{LEASE_S:g}",
        "tasks.max": str(TASKS),
        "tasks.min": str(TASKS),
        "emit.heartbeats.enabled": "false",
    }
    with MirrorProcess(properties(pair.source, pair.target, topic, extra, alias=topic[-6:])) as mirror:
        with plain_load(pair.source, topic, TASKS, age_ms=0, pause_s=0.03):
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) > 100, "it", 150)
            with Growth(pair.target, remote) as growth:
                time.sleep(2 * LEASE_S)
                growth.begin_anew()
                victim = find(mirror, who)
                victim.send_signal(signal.SIGSTOP)
                try:
                    time.sleep(STOPPED_S)
                    gaps, still = dict(growth.gaps), growth.still(2.0)
                finally:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        victim.send_signal(signal.SIGCONT)
                print(f"{who} stopped: longest gaps {gaps}, still {still}")
                woken_at = time.monotonic()
                await_condition(lambda: all(at > woken_at for at in growth.grew_at.values()), "all to go on", 60)
                print(f"all go on {time.monotonic() - woken_at:.1f} s after it woke up")
                time.sleep(2 * LEASE_S)
        assert_same_log(java_reader, pair.source, topic, pair.target, remote, ends=True, await_s=20)
    if who in COPIES_ON:
        assert not still and max(gaps.values()) < 2.0


@pytest.mark.timeout(400)
def test_a_jvm_that_stands_still_for_good_is_ended_and_the_mirror_with_it(pair: Pair, topic: str) -> None:
    """Whatever starts the mirror starts it again, and another driver takes over."""
    create_topic(pair.source, topic, 1)
    alias, remote = topic[-6:], f"{topic[-6:]}.{topic}"
    with MirrorProcess(properties(pair.source, pair.target, topic, {"lease.seconds": "3"}, alias=alias)) as mirror:
        with plain_load(pair.source, topic, 1, age_ms=0, pause_s=0.03):
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) > 100, "it", 150)
            find(mirror, "jvm").send_signal(signal.SIGSTOP)
            assert mirror.wait(150) != 0
        assert "has not answered for 60 s" in mirror.log()
