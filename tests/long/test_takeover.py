"""From MirrorMaker 2 to sparkmirror and back, on the same file and the same target: records are counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.embedded import MirrorMaker2
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

PARTITIONS = 3
STAGE = 30_000
ONE_BROKER = {
    f"{name}.replication.factor": "1"
    for name in ("status.storage", "config.storage", "checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
} | {"emit.heartbeats.enabled": "false"}  # else a topic is left on a source that other tests share

pytestmark = pytest.mark.timeout(400)


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_there_and_back(pair: Pair, topic: str, end: str) -> None:
    """A MirrorMaker 2 that was killed had copied more than it had written down: none of it comes twice."""
    create_topic(pair.source, topic, PARTITIONS)
    text = properties(pair.source, pair.target, topic, ONE_BROKER)
    produce_stage(pair, topic, 0)
    mirrormaker = MirrorMaker2(text)
    with mirrormaker:
        await_copied(pair, topic, 1)
        if end == "killed":
            mirrormaker.kill()
    produce_stage(pair, topic, 1)
    with MirrorProcess(text) as mirror:
        await_copied(pair, topic, 2)
        assert mirror.terminate()[0] == 0
    produce_stage(pair, topic, 2)
    with MirrorMaker2(text):
        await_copied(pair, topic, 3)
    found = read_all(pair.target, f"A.{topic}")
    seen = Counter(int(record.value or b"") for log in found.values() for record in log)
    missing = 3 * STAGE - len(seen)
    print(f"{end}: {len(seen):,} records, {seen.total() - len(seen)} duplicates, {missing} missing")
    assert (seen.total(), missing) == (3 * STAGE, 0)
    written = read_all(pair.source, topic)
    assert {p: [r.value for r in log] for p, log in found.items()} == {
        p: [r.value for r in log] for p, log in written.items()
    }


def test_beside_one_that_runs_the_mirror_waits_and_says_so(pair: Pair, topic: str, tmp_path: Path) -> None:
    """And goes on where it ended: no record is there twice."""
    create_topic(pair.source, topic, PARTITIONS)
    text = properties(pair.source, pair.target, topic, ONE_BROKER, alias="W")
    file = tmp_path / "mm2.properties"
    file.write_text(text)
    with MirrorMaker2(text), MirrorProcess(text) as mirror:
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in range(300)))
        mirror.await_log(
            "a MirrorMaker 2 still mirrors W->B (connector MirrorSourceConnector in group W-mm2 of cluster B)", 120
        )
        await_condition(lambda: bool(mirror.status()), "a status", 60)
        assert mirror.status()["flows"][0]["state"] == "waiting"
        shown = run_command("status", str(file))
        assert shown.returncode == 1 and "a MirrorMaker 2 still mirrors W->B" in shown.stdout
        found = {v.check: v for v in examine_clusters(load_mirror_config(file)) if v.about == "W->B"}
        assert (found["mirrormaker"].level, found["mirrormaker"].cure) == ("FAIL", "stop it")
        remote = f"W.{topic}"
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 300, "its copy", 60)
        mirror.kill()
    with MirrorProcess(text) as mirror:
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in range(300, 600)))
        await_condition(lambda: total(pair.target, remote) >= 600, "the takeover", 120)
        assert mirror.status()["flows"][0]["failed"] == 0
    values = [int(record.value or b"") for log in read_all(pair.target, remote).values() for record in log]
    assert sorted(values) == list(range(600))


def produce_stage(pair: Pair, topic: str, stage: int) -> None:
    numbers = range(stage * STAGE, (stage + 1) * STAGE)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in numbers))


def await_copied(pair: Pair, topic: str, stages: int) -> None:
    remote = f"A.{topic}"
    await_condition(
        lambda: remote in topics(pair.target) and total(pair.target, remote) >= stages * STAGE, f"stage {stages}", 120
    )
