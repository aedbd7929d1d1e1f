"""`sparkmirror status` and `offsets` on real brokers, without a mirror: what they say, refuse and leave alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import AS_SET, Standing
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import create_topic, produce, topics

SINCE = "2026-01-31T10:00:00.000Z"
GAP = Fact(kind="stopped", name="gap", error="source offsets 10..19 were removed", since=SINCE)
WIDER = Fact(kind="noted", name="partition-count", error="the target has more", since=SINCE)


@dataclass(frozen=True)
class Stage:
    """A flow of aliases that no other test uses, and the file that describes it."""

    pair: Pair
    file: Path
    source: str
    target: Cluster

    @property
    def name(self) -> str:
        return f"{self.source}->B"

    def status(self, *arguments: str) -> tuple[int, str]:
        done = run_command("status", str(self.file), *arguments)
        assert done.stderr == "", done.stderr
        return done.returncode, done.stdout

    def document(self) -> dict[str, Any]:
        return dict(json.loads(self.status("--json")[1])["flows"][0])

    def progress(self) -> ProgressTopic:
        topic = ProgressTopic(self.target, Storage.named(self.source), 1)
        topic.ensure()
        return topic

    def facts(self) -> FactsTopic:
        topic = FactsTopic(self.target, Storage.named(self.source), 1)
        topic.ensure()
        return topic

    def lead(self) -> Claims:
        claims = Claims(self.target, Storage.named(self.source), 1)
        claims.claim_producer_id()
        claims.lead(20.0)
        return claims


@pytest.fixture
def stage(pair: Pair, topic: str, tmp_path: Path) -> Iterator[Stage]:
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    source = only_flow(file).source.alias
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as target:
        yield Stage(pair, file, source, target)


def _fill(servers: str, topic: str, counts: list[int]) -> None:
    create_topic(servers, topic, len(counts))
    produce(servers, topic, ({"value": b"x", "partition": p} for p, n in enumerate(counts) for _ in range(n)))


def test_a_flow_that_never_ran_is_missing_and_nothing_is_created(stage: Stage, topic: str) -> None:
    _fill(stage.pair.source, topic, [5, 0])
    before = topics(stage.pair.source), topics(stage.pair.target)
    assert stage.status() == (
        0,
        f"{stage.name}: not running\n\n{topic} -> {stage.source}.{topic}\n"
        "PARTITION  SRC_START  SRC_LSO  SRC_END  DST_END  LAG  STATE    ERROR\n"
        "        0          0        5        5        -    5  missing\n"
        "        1          0        0        0        -    0  missing\n",
    )
    assert stage.status("--json", "--clusters", "B")[0] == 0
    assert run_command("offsets", "show", str(stage.file)).returncode == 0
    assert run_command("offsets", "reset", str(stage.file), stage.name, "--yes").returncode == 0
    assert (topics(stage.pair.source), topics(stage.pair.target)) == before


def test_every_partition_is_shown_with_its_state_lag_and_fact(stage: Stage, topic: str) -> None:
    remote = f"{stage.source}.{topic}"
    _fill(stage.pair.source, topic, [30, 30, 30, 30])
    _fill(stage.pair.target, remote, [30, 25, 10, 0])
    stage.progress().write(
        {
            (topic, 0): Standing(30, 29, 30),
            (topic, 1): Standing(12, 9, 20, translated="it was taken over"),
            (topic, 2): Standing(10, 9, 10),
        }
    )
    facts = stage.facts()
    facts.write({(topic, 2): GAP, (topic, -1): WIDER})
    claims = stage.lead()

    code, text = stage.status()
    lines = text.splitlines()
    assert code == 1
    assert lines[0].startswith(f"{stage.name}: driver {claims.driver[:8]} on ")
    assert " leads since 20" in lines[0]
    assert lines[2:] == [
        f"{topic} -> {remote}: partition-count: the target has more (since {SINCE})",
        "PARTITION  SRC_START  SRC_LSO  SRC_END  DST_END  LAG  STATE               ERROR",
        "        0          0       30       30       30    0  copied",
        "        1          0       30       30       25   13  copying translated  it was taken over",
        f"        2          0       30       30       10   20  stopped             {GAP.said} (since {SINCE})",
        "        3          0       30       30        0   30  new",
    ]

    flow = stage.document()
    assert (flow["flow"], flow["running"], flow["problem"]) == (stage.name, True, "")
    assert (flow["leader"]["driver"], flow["generation"]) == (claims.driver, 1)
    assert flow["topics"][0]["fact"]["name"] == "partition-count"
    assert flow["partitions"][2] == {
        "topic": topic,
        "partition": 2,
        "target_topic": remote,
        "source_start": 0,
        "source_lso": 30,
        "source_end": 30,
        "target_start": 0,
        "target_end": 10,
        "lag": 20,
        "state": "stopped",
        "translated": "",
        "fact": {"kind": "stopped", "name": "gap", "error": GAP.error, "since": SINCE},
    }

    claims.release()
    facts.write({(topic, 2): None})
    code, text = stage.status()
    assert code == 0
    assert f"{stage.name}: not running (driver {claims.driver[:8]} on " in text
    assert stage.document()["partitions"][2]["state"] == "copying"


def test_a_cluster_that_is_away_is_said_and_the_others_are_shown(stage: Stage, topic: str) -> None:
    _fill(stage.pair.source, topic, [5])
    away = f"C.bootstrap.servers = 127.0.0.1:1\n{stage.source}->C.enabled = true\n"
    stage.file.write_text(stage.file.read_text().replace(", B\n", ", C, B\n") + away)
    code, text = stage.status()
    assert code == 3
    assert f"{stage.source}->C: leader not known\n  cluster C: no broker answers: 127.0.0.1:1 can't be reached" in text
    assert f"{stage.name}: not running\n\n{topic} -> " in text
    assert stage.status("--clusters", "B")[0] == 0


def test_wrong_use_exits_2(stage: Stage) -> None:
    for arguments in ((str(stage.file), "--clusters", "X"), ("nowhere.properties",), (str(stage.file), "--no-such")):
        done = run_command("status", *arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_offsets_are_set_and_forgotten_while_the_flow_does_not_run(stage: Stage, topic: str) -> None:
    _fill(stage.pair.source, topic, [30, 30])
    file = str(stage.file)
    done = run_command("offsets", "set", file, stage.name, f"{topic}:1", "12")
    assert (done.returncode, done.stdout) == (
        0,
        f"{stage.name}: {topic}-1: next source offset 12 (nothing was known)\n",
    )
    assert stage.progress().read() == {(topic, 1): Standing(12, target_end=AS_SET)}
    done = run_command("offsets", "set", file, stage.name, topic, "7")
    assert done.stdout.splitlines() == [
        f"{stage.name}: {topic}-0: next source offset 7 (nothing was known)",
        f"{stage.name}: {topic}-1: next source offset 7 (was 12)",
    ]
    stage.progress().write({(topic, 0): Standing(30, 29, 28, translated="why", source_id="0123456789")})
    shown = run_command("offsets", "show", file, stage.name).stdout.splitlines()
    assert [line.split() for line in shown] == [
        f"{stage.name}: 2 partitions".split(),
        ["TOPIC", "PARTITION", "NEXT_OFFSET", "TARGET_END", "OFFSETS", "SOURCE_ID", "TARGET_ID", "REASON"],
        [topic, "0", "30", "28", "translated", "01234567", "-", "why"],
        [topic, "1", "7", "-", "-", "-", "-"],
    ]
    assert run_command("offsets", "reset", file, stage.name, f"{topic}-0").returncode == 2, "it must ask, and can't"
    assert run_command("offsets", "reset", file, stage.name, f"{topic}-0", "--yes").returncode == 0
    assert set(stage.progress().read()) == {(topic, 1)}
    assert run_command("offsets", "reset", file, stage.name, "--yes").returncode == 0
    assert stage.progress().read() == {}


def test_offsets_of_a_running_flow_are_left_alone(stage: Stage, topic: str) -> None:
    _fill(stage.pair.source, topic, [30])
    stage.progress().write({(topic, 0): Standing(10, 9, 10)})
    claims = stage.lead()
    for arguments in (
        ("set", str(stage.file), stage.name, topic, "12"),
        ("reset", str(stage.file), stage.name, "--yes"),
    ):
        done = run_command("offsets", *arguments)
        assert done.returncode == 1
        assert f"flow {stage.name} runs: driver {claims.driver[:8]} on " in done.stderr
    assert stage.progress().read() == {(topic, 0): Standing(10, 9, 10)}
    claims.release()
    assert run_command("offsets", "set", str(stage.file), stage.name, topic, "12").returncode == 0


def test_offsets_of_what_is_not_there_are_an_error_with_what_there_is(stage: Stage, topic: str) -> None:
    _fill(stage.pair.source, topic, [30])
    for arguments, said in (
        (("set", str(stage.file), stage.name, "other", "12"), f"no topic other: there are {topic}"),
        (("set", str(stage.file), stage.name, f"{topic}:5", "12"), f"topic {topic} has no partition 5: it has 0"),
        (("set", str(stage.file), stage.name, topic, "31"), f"{topic}-0 ends at offset 30 in the source"),
        (("set", str(stage.file), "B->A", topic, "1"), f"no flow B->A: there are {stage.name}"),
    ):
        done = run_command("offsets", *arguments)
        assert done.returncode == 2
        assert said in done.stderr
