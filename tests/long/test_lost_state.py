"""Internal topics are lost, also those of a real mirror while it copies: after `state import` it goes on exactly.

Or says by name what can't be known any more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.control.state import StateKeeper
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.java_reader import JavaReader, LogRecord
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics, total
from tests.support.load import small_load
from tests.support.local_mirror import mirroring
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.offset_maps import assert_exact, open_maps, write_some
from tests.support.same_log import assert_same_log
from tests.support.source_logs.log_start import remove_records
from tests.support.source_logs.markers import write_markers
from tests.support.state import Stage

PARTITIONS = 3
SEED = 7
MORE = 300


@pytest.mark.timeout(300)
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_it_goes_on_with_the_very_next_record(pair: Pair, java_reader: JavaReader, topic: str, preserve: str) -> None:
    alias = f"lost-{preserve}"
    remote = f"{alias}.{topic}"
    create_topic(pair.source, topic, PARTITIONS)
    keys = {"offsets.preserve": preserve, "lease.seconds": "2"}

    def copied(more: int) -> None:
        at = total(pair.target, remote)
        await_condition(lambda: total(pair.target, remote) >= at + more, f"{more} more records")

    with MirrorProcess(properties(pair.source, pair.target, topic, keys, alias=alias)) as mirror:
        state = str(mirror.folder / "state")
        with small_load(pair.source, topic, PARTITIONS, SEED, pause_s=0.1):
            mirror.await_log("leads, with")
            await_condition(lambda: remote in topics(pair.target), "the remote topic")
            copied(MORE)
            exported = run_command("state", "export", str(mirror.file), "--out", state)
            assert exported.returncode == 0, exported.stderr
            copied(MORE)
            mirror.kill()
            lost = lose_topics(pair.target, alias)
            imported = run_command("state", "import", str(mirror.file), "--in", state)
            assert imported.returncode == 0, imported.stdout + imported.stderr
            print(f"\n{preserve}: {len(lost)} topics lost\n{exported.stdout}{imported.stderr}{imported.stdout}")
            mirror.start()
            copied(MORE)
        await_all(java_reader, pair, topic, remote)
        assert mirror.terminate(20)[0] == 0
    here, there = records(java_reader, pair.source, topic), records(java_reader, pair.target, remote)
    with open_maps(mirror.file, pair.target) as maps:
        for partition in range(PARTITIONS):
            assert content(there[partition]) == content(here[partition])
            assert_exact(maps[topic, partition], here[partition], there[partition])
    if preserve == "auto":
        assert_same_log(
            java_reader, pair.source, topic, pair.target, remote, mirrored="read_committed", ends=True, await_s=20
        )


def lose_topics(servers: str, alias: str) -> list[str]:
    storage = Storage.named(alias)
    mine = {storage.claims, storage.progress, storage.status, storage.offset_map, f"{alias}.checkpoints.internal"}
    lost = sorted(mine & topics(servers))
    for name in lost:
        delete_topic(servers, name)
    await_condition(lambda: not mine & topics(servers), "the topics to be gone")
    return lost


def await_all(reader: JavaReader, pair: Pair, topic: str, remote: str) -> None:
    def count(servers: str, name: str) -> int:
        return sum(log.count for log in reader.read(servers, name, digest=True).values())

    wanted = count(pair.source, topic)
    await_condition(lambda: count(pair.target, remote) >= wanted, "all records", 90)


def records(reader: JavaReader, servers: str, topic: str) -> list[list[LogRecord]]:
    return [list(log.records) for log in reader.read(servers, topic).values()]


def content(log: list[LogRecord]) -> list[tuple[bytes | None, bytes | None, int]]:
    return [(record.key, record.value, record.timestamp) for record in log]


@pytest.fixture
def stage(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Nobody else runs its flow."""
    monkeypatch.setattr(StateKeeper, "watch_s", 0.1)
    return Stage(pair, tmp_path / "mm2.properties", tmp_path / "state")


def test_offsets_that_differ_only_since_the_export_are_counted(stage: Stage, topic: str) -> None:
    """At the target's end nothing speaks against equal offsets: the source has a hole there."""
    pair, late = stage.pair, f"{topic}-late"
    create_topic(pair.source, topic, 2)
    file = stage.write_file(f"{topic}.*", offsets_preserve_max_hole="20", refresh_topics_interval_seconds="1")
    write_some(pair.source, topic, 4)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        assert stage.run("export")[0] == 0
        create_topic(pair.source, late, 2)
        for name in (topic, late):
            for partition in (0, 1):
                write_markers(pair.source, name, 100, partition)
            write_some(pair.source, name, 6, first=10)
        mirror.await_topics(4)
        mirror.catch_up(topic, late)
        assert len(mirror.keeper.progress.written) == 4
        assert all(standing.translated for standing in mirror.keeper.progress.written.values())
    stage.lose_topics()
    for name in (topic, late):
        write_some(pair.source, name, 4, first=30)
    rows = {row["name"]: row for row in stage.document()["rows"] if row["part"] == "partition"}
    assert {row["action"] for row in rows.values()} == {"restored"}
    assert "offsets differ since the state was made" in rows[f"{topic}-0"]["why"]
    assert "not in the state" in rows[f"{late}-1"]["why"]
    with mirroring(file) as mirror:
        mirror.await_topics(4)
        mirror.catch_up(topic, late)
        assert not mirror.facts()
    for name in (topic, late):
        stage.assert_all_there(name)


def test_what_the_source_does_not_hold_any_more_stops_by_name(stage: Stage, topic: str) -> None:
    pair = stage.pair
    create_topic(pair.source, topic)
    file = stage.write_file(topic, offsets_preserve="never")
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(30)))
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        assert stage.run("export")[0] == 0
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(30, 60)))
        mirror.catch_up(topic)
    stage.lose_topics()
    remove_records(pair.source, topic, 45)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(60, 70)))
    found = stage.document()
    (row,) = [row for row in found["rows"] if row["part"] == "partition"]
    assert (found["code"], row["action"]) == (1, "stops") and "position-unknown" in row["why"]
    remote = f"{stage.storage.source}.{topic}"
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.round(0.7)
        assert {fact.name for fact in mirror.facts().values()} == {"position-unknown"}
    assert [record.value for record in read_all(pair.target, remote)[0]] == [b"%d" % i for i in range(60)]
