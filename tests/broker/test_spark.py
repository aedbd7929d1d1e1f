"""Spark runs the mirror: its tasks copy, its own figures are the mirror's, and its executors share the work."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.standalone import ON_LOOPBACK, Standalone


def get_json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.timeout(240)
def test_tasks_rows_and_observed_sums_in_sparks_status_equal_what_was_copied(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 4)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(20_000)))
    extra = {"spark.ui.enabled": "true", "lease.seconds": "3"}
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        mirror.await_log("UI at http")
        ui = mirror.log().split("UI at ")[1].split()[0]
        application = mirror_application(mirror)
        await_condition(
            lambda: f"A.{topic}" in topics(pair.target) and total(pair.target, f"A.{topic}") == 20_000, "it"
        )
        await_condition(lambda: mirror.status()["spark"]["observed"]["records"] == 20_000, "Spark's progress")
        status = mirror.status()
        stages = get_json(f"{ui}/api/v1/applications/{application}/stages?details=true&status=complete")
        rounds = get_json(f"{ui}/api/v1/applications/{application}/sql?details=true&length=100")
    tasks = [t for s in stages for t in s["tasks"].values()]
    assert len(tasks) >= 2 and all(t["status"] == "SUCCESS" for t in tasks)
    assert {len(s["tasks"]) for s in stages} == {2}, "tasks.max=2 makes two tasks a round"
    observed = status["spark"]["observed"]
    assert observed["records"] == status["records"] == 20_000
    assert observed["bytes"] == status["bytes"]
    assert observed["receipts"] == sum(rows_of(r, "MapInArrow") for r in rounds)


def mirror_application(mirror: MirrorProcess) -> str:
    await_condition(lambda: bool(mirror.status().get("spark")), "the status")
    return str(mirror.status()["spark"]["application"])


def rows_of(execution: dict[str, Any], node: str) -> int:
    """Output rows of a node as Spark's own SQL metrics count them."""
    return sum(
        int(metric["value"].replace(",", ""))
        for n in execution["nodes"]
        if n["nodeName"] == node
        for metric in n["metrics"]
        if metric["name"] == "number of output rows"
    )


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    cluster = Standalone(tmp_path)
    try:
        cluster.start(2)
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.timeout(300)
def test_two_executors_share_the_tasks_and_a_killed_one_s_partitions_move(
    pair: Pair, topic: str, standalone: Standalone
) -> None:
    create_topic(pair.source, topic, 4)
    remote = f"A.{topic}"
    extra = {
        "spark.master": standalone.url,
        **ON_LOOPBACK,
        "spark.ui.enabled": "true",
        "lease.seconds": "4",
        "tasks.max": "4",
    }
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        mirror.await_log("UI at http", 90)
        api = f"{mirror.log().split('UI at ')[1].split()[0]}/api/v1/applications/{mirror_application(mirror)}"
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(4000)))
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 4000, "the copy", 90)

        def hosts() -> set[str]:
            stages = get_json(f"{api}/stages?details=true")
            return {t["executorId"] for s in stages for t in (s.get("tasks") or {}).values()}

        await_condition(lambda: len(hosts()) == 2, "tasks on both executors", 60)
        standalone.executors()[0].kill()
        began = time.monotonic()
        produce(pair.source, topic, ({"value": b"more %d" % i, "partition": i % 4} for i in range(4000)))
        await_condition(lambda: total(pair.target, remote) == 8000, "the copy after the kill", 60)
        print(f"all partitions went on {time.monotonic() - began:.1f} s after an executor was killed")
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))
