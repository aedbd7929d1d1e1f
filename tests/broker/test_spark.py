"""Spark runs the mirror: its tasks copy, and its own figures are the mirror's."""

from __future__ import annotations

from typing import Any

import pytest

from sparkmirror.control.rounds import ROUND_LEASES
from tests.conftest import Pair
from tests.support.kafka_client import DEADLINE_S, await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.spark_ui import SparkUi

LEASE_S = 3


@pytest.mark.long
@pytest.mark.timeout(240)
def test_tasks_rows_and_observed_sums_in_sparks_status_equal_what_was_copied(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 4)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(20_000)))
    extra = {"spark.ui.enabled": "true", "lease.seconds": str(LEASE_S), "tasks.min": "2"}
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        ui = SparkUi(mirror)
        await_condition(
            lambda: f"A.{topic}" in topics(pair.target) and total(pair.target, f"A.{topic}") == 20_000, "it"
        )
        # Figures come when a round ends. The first is short; records that missed it may be in one that is calm.
        of_a_round = ROUND_LEASES * LEASE_S + DEADLINE_S
        await_condition(
            lambda: mirror.status()["spark"]["observed"]["records"] == 20_000, "Spark's progress", of_a_round
        )
        status = mirror.status()
        stages = ui.get("stages?details=true&status=complete")
        rounds = ui.get("sql?details=true&length=100")
    tasks = [t for s in stages for t in s["tasks"].values()]
    assert len(tasks) >= 2 and all(t["status"] == "SUCCESS" for t in tasks)
    # A round before the topic is seen has one task, for heartbeats.
    assert max(len(s["tasks"]) for s in stages) == 2, "tasks.min=2 makes two tasks a round"
    observed = status["spark"]["observed"]
    assert observed["records"] == status["records"] == 20_000
    assert observed["bytes"] == status["bytes"]
    assert observed["receipts"] == sum(rows_of(r, "MapInArrow") for r in rounds)


def rows_of(execution: dict[str, Any], node: str) -> int:
    """Output rows of a node as Spark's own SQL metrics count them."""
    return sum(
        int(metric["value"].replace(",", ""))
        for n in execution["nodes"]
        if n["nodeName"] == node
        for metric in n["metrics"]
        if metric["name"] == "number of output rows"
    )
