"""The whole mirror, or a part of it, killed while the number of leases changes: each record once, at its offset.

`KILLS=12 SEED=7 pytest -s tests/long/test_changing_leases.py`. A flood makes one lease two and then four; the calm
after it makes them fewer. Kills come at random moments after a change was decided, when old leases end and new ones
begin.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from confluent_kafka import Producer

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, total
from tests.support.load import beside, plain_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

KILLS = int(os.environ.get("KILLS", "12"))
SEED = int(os.environ.get("SEED", str(random.randrange(10_000))))
PARTITIONS = 8
WORKERS = "sparkmirror.pipeline.daemon"
VICTIMS = "all", "driver", "spark", "workers", "one worker", "one worker, frozen"
FLOOD_RECORDS = 3_000_000  # of 1 KB, at most: it ends when there are more leases

pytestmark = pytest.mark.timeout(3600)


def test_kills_while_the_number_of_leases_changes(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    print(f"\nSEED={SEED}, {KILLS} kills")
    create_topic(pair.source, topic, PARTITIONS)
    text = properties(pair.source, pair.target, topic, {"lease.seconds": "3", "tasks.max": "4"})
    dice = random.Random(SEED)
    with plain_load(pair.source, topic, PARTITIONS, age_ms=0, pause_s=0.01):
        for number in range(KILLS):
            victim, at_end = dice.choice(VICTIMS), number % 4 == 3
            with MirrorProcess(text) as mirror:
                await_leases(mirror, lambda leases: leases[-1:] == [1], "the first lease")
                with flood(pair.source, topic):
                    await_leases(mirror, lambda leases: leases[-1] > 1, "more leases")
                if not at_end:
                    kill_soon(mirror, victim, dice)
                else:
                    more = len(found_leases(mirror))
                    await_leases(mirror, lambda leases: any(n < max(leases) for n in leases[more:]), "fewer")  # noqa: B023
                    kill_soon(mirror, victim, dice)
                time.sleep(dice.uniform(0, 2))
                print(f"kill {number + 1} of {KILLS}, {victim}: leases {found_leases(mirror)}", flush=True)
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(300) == 0, mirror.log()
    print(f"{total(pair.source, topic):,} records")
    assert_same_log(java_reader, pair.source, topic, pair.target, f"A.{topic}", ends=True, deadline_s=600)


def found_leases(mirror: MirrorProcess) -> list[int]:
    return [int(count) for count in re.findall(r"copies with (\d+) of at most", mirror.log())]


def await_leases(mirror: MirrorProcess, wanted: Callable[[list[int]], bool], what: str) -> None:
    await_condition(lambda: wanted(found_leases(mirror)), what, 120)


def kill_soon(mirror: MirrorProcess, victim: str, dice: random.Random) -> None:
    time.sleep(dice.uniform(0, 1.5))  # new tasks are there after some tenths of a second
    if victim == "all":
        mirror.kill()
    elif victim == "driver":
        mirror.kill_driver()
    else:
        doomed = mirror.children("org.apache.spark" if victim == "spark" else WORKERS)
        if victim.startswith("one"):
            doomed = [dice.choice(doomed)]
        for process in doomed:
            with contextlib.suppress(psutil.NoSuchProcess):
                if victim.endswith("frozen"):
                    process.suspend()
                    time.sleep(dice.uniform(1, 10))  # up to longer than a lease lasts
                    process.resume()
                else:
                    process.kill()
        time.sleep(dice.uniform(0, 5))  # what is left goes on


@contextlib.contextmanager
def flood(servers: str, topic: str) -> Iterator[None]:
    """As fast as one producer can write."""
    stop = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, "batch.size": 65536})
        number = 0
        while not stop.is_set() and number < FLOOD_RECORDS:
            with contextlib.suppress(BufferError):
                for _ in range(500):
                    producer.produce(topic, b"%01000d" % number, partition=number % PARTITIONS)
                    number += 1
            producer.poll(0.01)
        producer.flush(30)

    with beside(write, stop):
        yield
