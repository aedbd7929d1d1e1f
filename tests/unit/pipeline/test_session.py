"""Spark's settings: slots for all leases in local mode, the user's keys as they are, exactness first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sparkmirror.pipeline.session import GROUPS_POOL, is_local, plan_master, plan_settings


@pytest.mark.parametrize("wanted", ["local", "local[*]", "local[2]", "local[2,1]"])
def test_local_mode_gets_slots_for_all_leases_and_tolerates_failures(wanted: str) -> None:
    assert plan_master(wanted, 3) == "local[8,4]"
    assert is_local({"spark.master": wanted})


def test_another_master_is_left_alone() -> None:
    assert plan_master("spark://host:7077", 3) == "spark://host:7077"
    assert not is_local({"spark.master": "spark://host:7077"})


def test_the_users_keys_win_but_speculation_stays_off(tmp_path: Path) -> None:
    user = {"spark.driver.memory": "3g", "spark.speculation": "true", "spark.custom": "x"}
    settings = plan_settings(user, 1, tmp_path)
    assert settings["spark.driver.memory"] == "3g"
    assert settings["spark.custom"] == "x"
    assert settings["spark.speculation"] == "false"


def test_workers_use_the_drivers_interpreter_unless_told_otherwise(tmp_path: Path) -> None:
    assert plan_settings({}, 1, tmp_path)["spark.pyspark.python"] == sys.executable
    other = {"spark.pyspark.python": "/opt/python"}
    assert plan_settings(other, 1, tmp_path)["spark.pyspark.python"] == "/opt/python"


def test_an_executor_that_has_vanished_is_given_up_soon_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    cluster = {"spark.master": "spark://host:7077"}
    key = "spark.storage.blockManagerHeartbeatTimeoutMs"
    assert plan_settings(cluster, 1, tmp_path)[key] == "15s"
    assert plan_settings(cluster | {key: "60s"}, 1, tmp_path)[key] == "60s"
    assert key not in plan_settings({}, 1, tmp_path)


def test_groups_come_first_when_a_slot_is_free(tmp_path: Path) -> None:
    """Else a cluster whose slots are all taken by leases never runs their tasks: `default` comes before `groups`."""
    where = plan_settings({}, 1, tmp_path)["spark.scheduler.allocation.file"]
    assert f'<pool name="{GROUPS_POOL}"><minShare>1</minShare>' in Path(where.removeprefix("file:")).read_text()
