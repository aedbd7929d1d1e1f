"""Passwords and keys are nowhere to be found: logs, status, Spark's UI and event log, temporary folders, commands."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.tls import PASSWORD, Secured

pytestmark = pytest.mark.timeout(300)

PAGES = ("jobs", "stages", "storage", "environment", "executors", "SQL", "StreamingQuery")
ANSWERS = ("jobs", "stages?details=true", "environment", "executors", "allexecutors", "sql?details=true&length=1000")
RECORDS = 2_000
LAST = 6


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode(errors="replace"))


def all_of_ui(page: str) -> Iterator[tuple[str, str]]:
    """Each page and each answer, and the pages of the last executions, stages, jobs and queries."""
    api = f"{page}/api/v1/applications"
    api = f"{api}/{json.loads(get(api))[0]['id']}"
    for name in ANSWERS:
        yield f"answer {name}", get(f"{api}/{name}")
    pages = {name: get(f"{page}/{name}/") for name in PAGES}
    yield from pages.items()
    last = {
        "SQL/execution/?id={}": [each["id"] for each in json.loads(get(f"{api}/sql?length=1000"))],
        "stages/stage/?id={}&attempt=0": [each["stageId"] for each in json.loads(get(f"{api}/stages"))],
        "jobs/job/?id={}": [each["jobId"] for each in json.loads(get(f"{api}/jobs"))],
        "StreamingQuery/statistics?id={}": re.findall(r"statistics/?\?id=([0-9a-f-]+)", pages["StreamingQuery"]),
    }
    for path, found in last.items():
        assert found, path
        for number in sorted(found)[-LAST:]:
            yield path.format(number), get(f"{page}/{path.format(number)}")


def all_files(*folders: Path) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    yield str(path), path.read_bytes()


@pytest.mark.parametrize("path", ["batches", "records"])
def test_no_secret_is_seen_anywhere(
    pair: Pair, secured: Secured, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    scratch, events = tmp_path / "scratch", tmp_path / "events"
    scratch.mkdir()
    events.mkdir()
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
        "spark.ui.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{events}",
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(scratch),
        "lease.seconds": "3",
        "emit.checkpoints.interval.seconds": "2",
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
        page = re.findall(r"UI at (http://\S+)", mirror.log())[-1]
        await_condition(lambda: len(json.loads(get(f"{page}/api/v1/applications"))) == 1, "the UI", 30)
        tokens = {value.encode() for process in mirror.tree() for value in desk_variables(process.pid)}
        seen = {f"UI {name}": text.encode() for name, text in all_of_ui(page)}
        command_lines = [" ".join(process.cmdline()) for process in mirror.tree()]
        seen |= {f"command {number}": line.encode() for number, line in enumerate(command_lines)}
        seen |= dict(all_files(scratch, events))
        for command in ("status", "config", "plan", "doctor", "groups"):
            done = run_command(command, str(mirror.file), "--json")
            seen[command] = (done.stdout + done.stderr).encode()
            if command != "doctor":
                assert done.returncode == 0, done.stderr
        assert mirror.terminate()[0] == 0
        seen |= {"log": mirror.log().encode(), "status file": mirror.status_file.read_bytes()}
        seen |= dict(all_files(scratch, events))
    assert len(tokens) >= 2, "the desk's token and key are in the environment of Python workers"
    print(f"{path}: {len(seen)} texts, {sum(map(len, seen.values())):,} bytes")
    assert any(name.startswith(str(events)) for name in seen)
    for what, secret in {**secrets, **{f"desk {i}": token for i, token in enumerate(tokens)}}.items():
        assert [name for name, text in seen.items() if secret in text] == [], what


def desk_variables(pid: int) -> list[str]:
    try:
        given = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
    named = dict(line.partition("=")[::2] for line in given)
    return [named[name] for name in ("SPARKMIRROR_DESK_TOKEN", "SPARKMIRROR_DESK_KEY") if name in named]
