"""Spark's settings: slots for all leases in local mode, the user's keys as they are, exactness first."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from sparkmirror.pipeline.session import GROUPS_POOL, is_local, plan_master, plan_settings
from sparkmirror.pipeline.spark_guard import at_launch, hide_values


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


def test_only_who_knows_the_run_s_secret_talks_to_spark_where_spark_can_make_one(tmp_path: Path) -> None:
    key, secret = "spark.authenticate", {"spark.authenticate.secret": "x"}
    for master in ("local[*]", "yarn", "k8s://https://host:443"):
        assert plan_settings({"spark.master": master}, 1, tmp_path)[key] == "true", master
    cluster = {"spark.master": "spark://host:7077"}
    assert key not in plan_settings(cluster, 1, tmp_path), "only spark-defaults.conf can say it"
    assert plan_settings(cluster | secret, 1, tmp_path)[key] == "true"
    assert plan_settings({key: "false"}, 1, tmp_path)[key] == "false"
    assert plan_settings({}, 1, tmp_path)["spark.ui.killEnabled"] == "false"


USER = {
    "spark.driver.memory": "3g",
    "spark.jars": "/opt/x.jar",
    "spark.jars.repositories": "https://me:s3cret@host/maven",
    "spark.hadoop.fs.azure.account.key.x": "s3cret",
    "spark.hadoop.hadoop.security.authentication": "kerberos",
    "spark.authenticate.secret": "s3cret",
    "spark.executorEnv.X": "s3cret",
    "spark.any.other": "s3cret",
    "spark.kubernetes.authenticate.oauthToken": "s3cret",
}


def test_a_process_s_arguments_name_only_what_the_jvm_needs_at_once_and_no_secret(tmp_path: Path) -> None:
    settings = plan_settings(USER, 1, tmp_path)
    given = at_launch(settings)
    assert "s3cret" not in str(given)
    assert given["spark.driver.memory"] == "3g" and given["spark.jars"] == "/opt/x.jar"
    assert given["spark.hadoop.hadoop.security.authentication"] == "kerberos"
    assert "log4j2" in given["spark.driver.extraJavaOptions"]
    assert hide_values("it is s3cret", settings) == "it is ********"


def test_spark_s_pages_hide_each_setting_that_is_not_known_to_be_harmless(tmp_path: Path) -> None:
    pattern = plan_settings(USER | {"spark.redaction.regex": "mine"}, 1, tmp_path)["spark.redaction.regex"]
    hidden = ["spark.any.other", "spark.hadoop.fs.azure.account.key.x", "fs.azure.account.key.x", "spark.executorEnv.X"]
    assert [key for key in [*hidden, "mine"] if re.search(pattern, key) is None] == []
    assert [key for key in ("spark.driver.memory", "3g", "spark.master") if re.search(pattern, key)] == []
