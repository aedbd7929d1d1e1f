"""Tasks that are killed while they fill holes with empty transactions: nothing twice, nothing lost, the same offsets.

`KILLS=50 SEED=7 pytest -s tests/long/test_killed_slow_fills.py`
"""

from __future__ import annotations

import os
import random
import subprocess

import pytest

from sparkmirror.copy.lease import TRANSACTIONS, Rules
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic
from tests.support.lease_process import start_lease_process
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.load import small_load
from tests.support.same_log import assert_same_log

KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", str(random.randrange(10_000))))
PARTITIONS = 4

pytestmark = pytest.mark.timeout(900)


def test_kills_while_holes_are_filled_slowly(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    print(f"SEED={SEED} KILLS={KILLS}")
    dice = random.Random(SEED)
    create_topic(pair.source, topic, PARTITIONS)
    create_topic(pair.target, topic, PARTITIONS)
    producer_id = new_producer_id(pair.target)
    with small_load(pair.source, topic, PARTITIONS, SEED, pause_s=0.2):
        for number in range(KILLS):
            before = sum(ends(pair.target, topic).values())
            process = start_lease_process(
                pair.source, pair.target, topic, producer_id, seconds=2.0, fill_with=TRANSACTIONS
            )
            assert process.stdout is not None and process.stdout.readline() == "lease\n"
            await_condition(lambda b=before: sum(ends(pair.target, topic).values()) > b, "some of the holes", 60)  # type: ignore[misc]
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(dice.uniform(0.0, 1.5))
            process.kill()
            said = process.communicate()[0]
            print(f"kill {number + 1}: target at {sum(ends(pair.target, topic).values()):,} {said.split()[1:]}")
    rules = Rules(fill_with=TRANSACTIONS)
    copied = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    assert copied.facts == [] and not any(standing.translated for standing in copied.standings.values())
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)
