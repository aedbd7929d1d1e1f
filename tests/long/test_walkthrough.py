"""Seed 001's walkthrough, step by step with Kafka's console tools, on its final file.

Only host names are replaced. Its consumer on the second cluster is given the group that its text speaks of.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.console_tools import TOPICS, console_consume, console_produce, list_topics, run_tool
from tests.support.group_members import committed
from tests.support.kafka_client import await_condition, end_offsets, topics, total
from tests.support.mirror_process import MirrorProcess
from tests.support.samples import with_addresses

FILE = Path(__file__).parents[1] / "fixtures" / "seeds" / "001-final.properties"
PRIMARY = "primary-kafka-cluster"
TOPIC, GROUP, PARTITIONS = "TestMirrorMakerTopic", "my-group", 4
REMOTE = f"{PRIMARY}.{TOPIC}"
SYNC_S = 30  # sync.group.offsets.interval.ms of the file
IDLE_S = 8.0


@pytest.mark.timeout(500)
def test_my_group_goes_on_in_the_secondary_cluster_with_the_new_messages(wide: Pair) -> None:
    first = [f"message {i}" for i in range(50)]
    later = [f"later {i}" for i in range(30)]
    words = ("--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "3")
    run_tool(TOPICS, "--bootstrap-server", wide.source, "--create", *words)
    with MirrorProcess(with_addresses(FILE.read_text(), wide.source, wide.target)) as mirror:
        mirror.await_log("leads, with", 90)
        console_produce(wide.source, TOPIC, first)
        assert sorted(console_consume(wide.source, TOPIC, GROUP, idle_s=IDLE_S)) == sorted(first)
        await_condition(lambda: REMOTE in topics(wide.target) and total(wide.target, REMOTE) == 50, "the copy", 60)
        ends = {(REMOTE, p): end for p, end in end_offsets(wide.target, REMOTE).items()}
        waited = await_condition(lambda: committed(wide.target, GROUP, list(ends)) == ends, "the sync", 90)
        print(f"\nsynced {waited:.0f} s after the consumer stopped, every {SYNC_S} s")

        assert REMOTE in list_topics(wide.target)
        assert console_consume(wide.target, REMOTE, GROUP, idle_s=IDLE_S) == [], "already consumed in the primary"
        console_produce(wide.source, TOPIC, later)
        assert sorted(console_consume(wide.target, REMOTE, GROUP, idle_s=IDLE_S)) == sorted(later)
        assert console_consume(wide.target, REMOTE, "somebody-else", idle_s=IDLE_S) != []
        assert mirror.terminate()[0] == 0
