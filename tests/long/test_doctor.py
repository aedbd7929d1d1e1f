"""`sparkmirror doctor` as a command, with Spark's start."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import write_flow
from tests.support.kafka_client import create_topic

ONE = {"replication.internal.topic.replication.factor": "1", "spark.ui.enabled": "false"}


def test_all_is_well_and_exit_code_0(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    done = run_command("doctor", str(write_flow(tmp_path, pair.source, pair.target, topic, ONE)))
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    _, *lines, last = done.stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"PASS"}
    assert any("Spark 4" in line and "ran a task" in line for line in lines)
    assert last.endswith("passed, 0 failed, 0 warnings, 0 skipped")


def test_spark_that_can_not_start_and_a_dead_cluster_are_both_named(pair: Pair, topic: str, tmp_path: Path) -> None:
    extra = ONE | {"spark.master": "spark://127.0.0.1:1"}
    done = run_command("doctor", str(write_flow(tmp_path, "127.0.0.1:1", pair.target, topic, extra)))
    assert done.returncode == 1
    failed = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert ["machine", "spark"] in failed and "reach" in {check for _, check in failed}
