"""Passwords and keys are nowhere to be found: logs, status, Spark's UI and event log, temporary folders, commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.mirror_traces import all_files, all_of_mirror, desk_variables, shown_by_spark
from tests.support.tls import PASSWORD, Secured

pytestmark = pytest.mark.timeout(300)

RECORDS = 2_000


@pytest.mark.parametrize("path", ["batches", "records"])
def test_no_secret_is_seen_anywhere(
    pair: Pair, secured: Secured, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
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
        **{f"{topic[-6:]}.{key}": value for key, value in inline.items()},
    }
    text = properties(pair.a.servers_of("MTLS"), pair.b.servers_of("MTLS"), topic, extra, alias=topic[-6:])
    key_lines = [line for line in secured.me.key_pem().splitlines() if "-----" not in line]
    secrets = {"password": PASSWORD.encode(), "key": max(key_lines, key=len).encode()}
    remote = f"{topic[-6:]}.{topic}"
    with MirrorProcess(text) as mirror:
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == RECORDS, "it", 90)
        await_condition(lambda: mirror.status()["records"] >= RECORDS, "the status", 30)
        tokens = {value.encode() for process in mirror.tree() for value in desk_variables(process.pid)}
        seen = all_of_mirror(mirror) | dict(all_files(scratch))
        for command in ("status", "config", "plan", "doctor", "groups"):
            done = run_command(command, str(mirror.file), "--json")
            seen[command] = (done.stdout + done.stderr).encode()
            if command != "doctor":
                assert done.returncode == 0, done.stderr
        assert mirror.terminate()[0] == 0
        seen |= {"log": mirror.log().encode(), "status file": mirror.status_file.read_bytes()}
        seen |= dict(all_files(scratch))
    assert len(tokens) == 1, "the desk's key is in the environment of Python workers"
    print(f"{path}: {len(seen)} texts, {sum(map(len, seen.values())):,} bytes")
    assert any(name.startswith(str(scratch / "events")) for name in seen)
    for what, secret in {**secrets, **{f"desk {i}": token for i, token in enumerate(tokens)}}.items():
        assert [name for name, text in seen.items() if secret in text] == [], what
