"""Passwords and keys are nowhere to be found: logs, status, Spark's UI and event log, temporary folders, commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from sparkmirror.pipeline.session import start_spark
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.mirror_traces import (
    all_files,
    all_of_mirror,
    core_limit,
    desk_variables,
    environments,
    shown_by_spark,
)
from tests.support.planted import plant
from tests.support.tls import PASSWORD, Secured

pytestmark = pytest.mark.timeout(900)

RECORDS = 2_000
COMMANDS = ("status", "config", "plan", "doctor", "groups")


@pytest.mark.parametrize(("path", "log_format"), [("batches", "text"), ("records", "json")])
def test_no_secret_is_seen_anywhere(
    pair: Pair,
    secured: Secured,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    log_format: str,
) -> None:
    scratch, outside, alias = tmp_path / "scratch", tmp_path / "outside", topic[-6:]
    scratch.mkdir()
    outside.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    planted = plant(outside, alias, "B")
    for name, value in planted.variables.items():
        monkeypatch.setenv(name, value)
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS)))
    inline = {
        "ssl.truststore.certificates": secured.ca.pem.replace("\n", "\\n"),
        "ssl.keystore.key": secured.me.key_pem().replace("\n", "\\n"),
        "ssl.keystore.certificate.chain": secured.me.chain_pem.replace("\n", "\\n"),
        "security.protocol": "SSL",
    }
    extra = {
        **shown_by_spark(scratch),
        "lease.seconds": "3",
        "emit.checkpoints.interval.seconds": "2",
        "replication.internal.topic.replication.factor": "1",
        **({"pipeline.path": "records"} if path == "records" else {}),
        **secured.of_client("B."),
        **{f"{alias}.{key}": value for key, value in inline.items()},
        **planted.lines,
    }
    text = properties(pair.a.servers_of("MTLS"), pair.b.servers_of("MTLS"), topic, extra, alias=alias)
    key_lines = [line for line in secured.me.key_pem().splitlines() if "-----" not in line]
    secrets = {"password": PASSWORD.encode(), "key": max(key_lines, key=len).encode(), **planted.secrets}
    remote, flow = f"{alias}.{topic}", f"{alias}->B"
    with MirrorProcess(text, "--log-format", log_format, "--log-level", "debug") as mirror:
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == RECORDS, "it", 300)
        await_condition(lambda: mirror.status()["records"] >= RECORDS, "the status", 60)
        tokens = {value.encode() for process in mirror.tree() for value in desk_variables(process.pid)}
        around = environments(mirror)
        dumps = {process.pid: core_limit(process.pid) for process in mirror.tree()}
        seen = all_of_mirror(mirror) | dict(all_files(scratch))
        file = str(mirror.file)
        for command in (
            *((name, file, "--json") for name in COMMANDS),
            *((name, file) for name in ("config", "check", "plan", "status")),
            ("offsets", "show", file),
            ("state", "export", file, "--flow", flow, "--out", str(scratch / "state")),
            ("failover", file, "--flow", flow, "--dry-run"),
            ("verify", file, "--report", str(scratch / "report")),
        ):
            done = run_command(*command, deadline_s=240)
            seen[f"{command}"] = (done.stdout + done.stderr).encode()
            assert done.returncode == 0 or command[0] in ("doctor", "failover"), done.stderr
        assert mirror.terminate()[0] == 0
        seen |= {"log": mirror.log().encode(), "status file": mirror.status_file.read_bytes()}
        seen |= dict(all_files(scratch))
    assert set(dumps.values()) == {"0"}, "memory is written to no file"
    assert len(tokens) == 1, "the desk's key is in the environment of Python workers"
    print(f"{path}: {len(seen)} texts, {sum(map(len, seen.values())):,} bytes")
    assert any(name.startswith(str(scratch / "events")) for name in seen)
    for what, secret in {**secrets, **{f"desk {i}": token for i, token in enumerate(tokens)}}.items():
        assert [name for name, text in seen.items() if secret in text] == [], what
    for what in secrets.keys() - planted.given:
        assert [name for name, text in around.items() if secrets[what] in text] == [], what


def test_a_stranger_on_the_same_machine_gets_no_word_with_the_driver_s_rpc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another Spark program would try it; the same that knows the run's secret is let in."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
        monkeypatch.delenv(name)
    spark = start_spark({"spark.ui.enabled": "false", "spark.rpc.askTimeout": "10s"}, 1, tmp_path)
    try:
        context = spark.sparkContext
        jvm, port = context._jvm, int(str(context.getConf().get("spark.driver.port")))
        assert jvm is not None

        def ask(*, knows: bool) -> str:
            package = jvm.org.apache.spark
            conf = context._jsc.sc().conf().clone().set("spark.authenticate", str(knows).lower())
            none = jvm.scala.Option.apply(None)
            manager = package.SecurityManager(
                conf, none, package.SecurityManager.__getattr__("$lessinit$greater$default$3")()
            )
            environment = package.rpc.RpcEnv.create("stranger", "127.0.0.1", 0, conf, manager, True)
            try:
                place = package.rpc.RpcAddress("127.0.0.1", port)
                return str(environment.setupEndpointRef(place, "OutputCommitCoordinator").toString())
            finally:
                environment.shutdown()

        assert "OutputCommitCoordinator" in ask(knows=True)
        with pytest.raises(Py4JJavaError):
            ask(knows=False)
    finally:
        spark.stop()
