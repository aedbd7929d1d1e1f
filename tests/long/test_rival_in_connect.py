"""MirrorMaker 2 as connectors of a real Connect cluster: run beside it waits, and goes on where it ended."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.doctor.examine import examine_clusters
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.connect_worker import HEARTBEATS, MIRROR, OFFSETS_PARTITIONS, ConnectWorker
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess

PARTITIONS = 3
STAGE = 300
OWN = {
    "offset.storage.partitions": str(OFFSETS_PARTITIONS),
    "offset.storage.replication.factor": "1",
    "lease.seconds": "5",
    "spark.ui.enabled": "false",
}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def shared(pair: Pair) -> Iterator[ConnectWorker]:
    with ConnectWorker(pair.target, f"workers-{uuid.uuid4().hex[:6]}") as worker:
        yield worker


@pytest.fixture
def worker(shared: ConnectWorker) -> ConnectWorker:
    if not shared.running:  # a test killed it
        shared.start()
    return shared


def test_beside_a_connector_the_mirror_waits_and_goes_on_where_it_ended(
    pair: Pair, worker: ConnectWorker, topic: str, tmp_path: Path
) -> None:
    """Also while the connector is paused: it keeps its tasks, and one request sets them going."""
    create_topic(pair.source, topic, PARTITIONS)
    name, alias = f"mirror-{topic}", f"W{uuid.uuid4().hex[:6]}"
    remote, connector = f"{alias}.{topic}", mirror_of(pair, topic, alias)
    text = file_of(connector, name, worker)
    file = tmp_path / "connector.properties"
    file.write_text(text)
    produce_stage(pair, topic, 0)
    worker.put(name, connector, tasks=2)
    said = f"a MirrorMaker 2 still mirrors {alias}->B (connector {name} in group {worker.name} of cluster B)"
    with MirrorProcess(text) as mirror:
        mirror.await_log(said, 60)
        await_copied(pair, remote, 1)
        assert_named(file, said)
        worker.ask("PUT", f"/connectors/{name}/pause")
        worker.await_tasks(name, ["PAUSED"] * 2)
        produce_stage(pair, topic, 1)
        assert_named(file, said)
        worker.ask("PUT", f"/connectors/{name}/resume")
        await_copied(pair, remote, 2)
        produce_stage(pair, topic, 2)
        worker.ask("DELETE", f"/connectors/{name}")
        produce_stage(pair, topic, 3)
        await_copied(pair, remote, 4)
        await_condition(lambda: bool(mirror.status()), "a status", 60)
        assert mirror.status()["flows"][0]["failed"] == 0
        assert run_command("status", str(file)).returncode == 0
        found = {v.check: v for v in examine_clusters(load_mirror_config(file)) if v.about == f"{alias}->B"}
        assert found["mirrormaker"].level == "PASS"
    values = [int(record.value or b"") for log in read_all(pair.target, remote).values() for record in log]
    assert sorted(values) == list(range(4 * STAGE))


def test_other_connectors_delay_nothing(pair: Pair, worker: ConnectWorker, topic: str, tmp_path: Path) -> None:
    """Not one of another kind, nor of another pair, nor of other clusters under the same aliases."""
    other = f"{topic}-other"
    create_topic(pair.source, topic, PARTITIONS)
    create_topic(pair.target, other, 1)
    alias = f"V{uuid.uuid4().hex[:6]}"
    connector = mirror_of(pair, topic, alias)
    beats = {"emit.heartbeats.interval.seconds": "60", "heartbeats.topic.replication.factor": "1"}
    worker.put(f"{topic}-beats", connector | beats | {"connector.class": HEARTBEATS})
    worker.put(f"{topic}-pair", connector | {"source.cluster.alias": f"{alias}x"}, tasks=2)
    elsewhere = {"source.cluster.bootstrap.servers": pair.target, "topics": other}
    worker.put(f"{topic}-elsewhere", connector | elsewhere)
    text = file_of(connector, "ours", worker)
    file = tmp_path / "connector.properties"
    file.write_text(text)
    produce_stage(pair, topic, 0)
    with MirrorProcess(text) as mirror:
        await_copied(pair, f"{alias}.{topic}", 1)
        assert "a MirrorMaker 2" not in mirror.log()
        shown = run_command("status", str(file))
        assert shown.returncode == 0 and "a MirrorMaker 2" not in shown.stdout


def test_a_worker_that_was_killed_holds_nothing_up(pair: Pair, worker: ConnectWorker, topic: str) -> None:
    """When its session is over, after ten seconds."""
    create_topic(pair.source, topic, PARTITIONS)
    name, alias = f"mirror-{topic}", f"U{uuid.uuid4().hex[:6]}"
    remote, connector = f"{alias}.{topic}", mirror_of(pair, topic, alias)
    produce_stage(pair, topic, 0)
    worker.put(name, connector, tasks=2)
    with MirrorProcess(file_of(connector, name, worker)) as mirror:
        mirror.await_log(f"a MirrorMaker 2 still mirrors {alias}->B (connector {name} in group {worker.name}", 60)
        await_copied(pair, remote, 1)
        worker.kill()
        produce_stage(pair, topic, 1)
        await_copied(pair, remote, 2)
        assert mirror.status()["flows"][0]["failed"] == 0
    values = [int(record.value or b"") for log in read_all(pair.target, remote).values() for record in log]
    assert sorted(values) == list(range(2 * STAGE))


def mirror_of(pair: Pair, topic: str, alias: str) -> dict[str, str]:
    return {
        "connector.class": MIRROR,
        "source.cluster.alias": alias,
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": pair.source,
        "target.cluster.bootstrap.servers": pair.target,
        "topics": topic,
        "heartbeats.replication.enabled": "false",
        "tasks.max": "2",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "offset-syncs.topic.location": "target",  # else a topic is left on a source that other tests share
    }


def file_of(connector: Mapping[str, str], name: str, worker: ConnectWorker) -> str:
    """The connector's own file, with the worker's progress."""
    lines = dict(connector) | OWN | {"name": name, "offset.storage.topic": worker.offsets_topic}
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


def assert_named(file: Path, said: str) -> None:
    shown = run_command("status", str(file))
    assert shown.returncode == 1 and said in shown.stdout, shown
    found = {v.check: v for v in examine_clusters(load_mirror_config(file)) if v.check == "mirrormaker"}
    assert (found["mirrormaker"].level, found["mirrormaker"].cure) == ("FAIL", "stop it")


def produce_stage(pair: Pair, topic: str, stage: int) -> None:
    numbers = range(stage * STAGE, (stage + 1) * STAGE)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in numbers))


def await_copied(pair: Pair, remote: str, stages: int) -> None:
    def is_copied() -> bool:
        return remote in topics(pair.target) and total(pair.target, remote) >= stages * STAGE

    await_condition(is_copied, f"stage {stages} of {remote}", 120)
