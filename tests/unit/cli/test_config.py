"""`sparkmirror config`: what holds, where it came from, and nothing that is secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkmirror.cli.check import check
from sparkmirror.cli.config import ConfigSettings, config
from sparkmirror.config.mirror import load_mirror_config

TEXT = """\
clusters = a, b
a.bootstrap.servers = h:1
b.bootstrap.servers = i:1
a->b.enabled = true
b->a.enabled = true
topics = x
a->b.topics = y
Replication.factor = 3
replication.internal.topic.replication.factor = 1
a.ssl.key.password = s3cret
a.consumer.ssl.keystore.location = ${env:SPARKMIRROR_TEST}
b.producer.acks = 1
spark.ssl.keyPassword = s3cret
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARKMIRROR_TEST", "h1dden")
    path = tmp_path / "mm2.properties"
    path.write_text(TEXT)
    return path


def as_json(file: Path, capsys: pytest.CaptureFixture[str], flow: str | None = None) -> dict[str, Any]:
    assert config(ConfigSettings(file=file, flow=flow, as_json=True)) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_each_value_says_where_it_came_from(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = as_json(file, capsys)["flows"]
    told = {"value": "y", "state": "in force", "why": None, "line": 7, "written": "a->b.topics"}
    assert flows["a->b"]["topics"] == told
    assert flows["b->a"]["topics"] == told | {"value": "x", "line": 6, "written": "topics"}
    assert flows["a->b"]["replication.factor"]["written"] == "Replication.factor"
    assert flows["a->b"]["heartbeats.topic.replication.factor"]["line"] == 9
    assert flows["a->b"]["lease.seconds"] == told | {"value": "10", "line": None, "written": None}
    assert flows["a->b"]["producer.acks"]["why"]
    assert "producer.acks" not in flows["b->a"]


def test_nothing_secret_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(file, capsys)
    flow = document["flows"]["a->b"]
    assert flow["source.consumer.ssl.key.password"]["value"] == "********"
    assert flow["source.consumer.ssl.keystore.location"]["value"] == "${env:SPARKMIRROR_TEST}"
    assert document["spark"] == {"spark.ssl.keyPassword": "********"}
    assert config(ConfigSettings(file=file)) == 0
    shown = json.dumps(document) + capsys.readouterr().out
    assert "s3cret" not in shown and "h1dden" not in shown


JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password="
PLANTED = {
    "a.ssl.keystore.password": "pa${ss-s3cret",
    "a.ssl.truststore.password": "x${nobody:s3cret}y",
    "a.sasl.jaas.config": f'{JAAS}"${{env:SPARKMIRROR_TEST}}" other="s3cret";',
    "b.sasl.jaas.config": f'{JAAS}"s3cret${{";',
    "b.ssl.key.password": "s3cret${env:SPARKMIRROR_TEST}",
    "b.sasl.oauthbearer.token.endpoint.url": "https://me:s3cret@host/token?key=s3cret",
    "spark.hadoop.fs.azure.account.key.x.blob.core.windows.net": "s3cret",
    "spark.hadoop.some.connector": "${env:SPARKMIRROR_TEST}",
    "spark.sql.catalog.c.uri": "s3cret",
    "spark.executorEnv.PLAIN": "s3cret",
    "spark.driver.extraJavaOptions": "-Dany.thing=s3cret",
    "spark.jars": "https://me:s3cret@host/x.jar",
    "spark.app.name": "${env:SPARKMIRROR_TEST}",
    "consumer.poll.timeout.ms": "${env:SPARKMIRROR_TEST}",
}


@pytest.mark.parametrize("key", PLANTED)
def test_no_command_shows_what_is_secret_whatever_stands_beside_it(
    file: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    file.write_text(f"{TEXT}{key} = {PLANTED[key]}\n")
    done = [config(ConfigSettings(file=file, as_json=as_json)) for as_json in (True, False)]
    check(file)
    shown = "".join(capsys.readouterr())
    assert set(done) <= {0, 2} and "warning" in shown
    assert "s3cret" not in shown and "h1dden" not in shown, shown


def test_a_setting_of_spark_that_is_harmless_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT + "spark.driver.memory = 2g\nspark.hadoop.some.key = ${env:SPARKMIRROR_TEST}\n")
    spark = as_json(file, capsys)["spark"]
    assert spark["spark.driver.memory"] == "2g"
    assert spark["spark.hadoop.some.key"] == "${env:SPARKMIRROR_TEST}"


def test_a_placeholder_that_gives_a_wrong_value_does_not_show_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(TEXT + "tasks.max = ${env:SPARKMIRROR_TEST}\nssl.key.password = \\us3cret\n")
    check(file)
    shown = "".join(capsys.readouterr())
    assert "tasks.max: what its placeholder stands for" in shown and "malformed escape" in shown
    assert "s3cret" not in shown and "h1dden" not in shown


def test_the_plain_form(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(ConfigSettings(file=file, flow="a->b")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a->b: h:1 -> i:1"
    assert lines[1].split() == ["KEY", "STATE", "FROM", "VALUE"]
    (topics,) = (line for line in lines if line.startswith("topics "))
    assert topics.split() == ["topics", "in", "force", "line", "7:", "a->b.topics", "y"]
    assert not any(line.startswith("b->a") for line in lines)


def test_a_wrong_file_or_flow_is_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(ConfigSettings(file=file, flow="a->c")) == 2
    assert "there are a->b, b->a" in capsys.readouterr().err
    file.write_text(TEXT + "tasks.max = x\n")
    assert config(ConfigSettings(file=file)) == 2
    assert ":14: tasks.max: expected" in capsys.readouterr().err


def test_a_line_that_changes_nothing_has_the_verdict_of_check_and_of_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mm2.properties"
    lines = ("offset.flush.interval.ms = 5", "nonsense = 1", "listeners = x", "a->b.topcs = x")
    file.write_text(
        "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"
        + "\n".join(lines)
    )
    assert check(file) == 0
    checked = [line.replace(" warning:", "") for line in capsys.readouterr().out.splitlines()[:-1]]
    assert config(ConfigSettings(file=file)) == 0
    assert capsys.readouterr().out.splitlines()[-len(lines) :] == checked
    assert list(load_mirror_config(file).warnings) == checked, "which is what a run logs first"
