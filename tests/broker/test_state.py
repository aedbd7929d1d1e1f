"""A flow whose internal topics were lost goes on exactly after `state import`; what can't be restored has a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sparkmirror.control.state import StateKeeper
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.offsets.state_file import read_state_file, write_state_file
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.group_rounds import Groups, commit
from tests.support.kafka_client import (
    await_condition,
    create_topic,
    delete_topic,
    end_offsets,
    produce,
    read_all,
    topics,
)
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.offset_maps import write_some
from tests.support.source_logs.markers import write_markers
from tests.support.state import Stage

# A driver that leads shows itself within two seconds.
WATCH_S = 4.0


@pytest.fixture
def stage(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(StateKeeper, "watch_s", 0.1)
    return Stage(pair, tmp_path / "mm2.properties", tmp_path / "state")


def test_after_the_loss_of_all_topics_it_goes_on_with_the_very_next_record(stage: Stage, topic: str) -> None:
    """Partition 0 has equal offsets, partition 1 not."""
    pair = stage.pair
    create_topic(pair.source, topic, 2)
    file = stage.write_file(topic, offsets_preserve_max_hole="200")
    write_markers(pair.source, topic, 300, partition=1)
    write_some(pair.source, topic, 6)
    commit(pair.source, topic, {(topic, 0): 3})
    assert stage.run("export")[0] == 1, "there is nothing to export yet"
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        for first in (10, 20, 30):  # fences grow with the rounds
            mirror.round(0.4)
            write_some(pair.source, topic, 4, first=first)
        groups = Groups(mirror)
        groups.round()
        groups.close()
        assert "would write" in stage.run("export", "--dry-run")[1] and not stage.state.exists()
        code, said = stage.run("export")
        assert code == 0 and "2 progress" in said and "1 checkpoints" in said, said
        mirror.catch_up(topic)  # what no export knows
        assert [bool(mirror.hints[topic, p].translated) for p in (0, 1)] == [False, True]
    before = stage.internal
    assert len(before) == 5
    stage.lose_topics()
    write_some(pair.source, topic, 4, first=50)

    found = stage.document("--dry-run")
    assert found["code"] == 0 and not stage.internal, "a dry run makes nothing"
    assert {row["action"] for row in found["rows"]} == {"restored"}
    code, said = stage.run("import")
    assert code == 0 and "nothing says who leads" in said, said
    assert stage.internal == [name for name in before if name != stage.storage.status]
    ends = {name: end_offsets(pair.target, name) for name in stage.internal}
    assert len(ends[stage.storage.progress]) == 25
    found = stage.document()
    assert found["code"] == 0 and {row["action"] for row in found["rows"]} == {"there"}
    assert {name: end_offsets(pair.target, name) for name in stage.internal} == ends, "the second time writes nothing"
    with Cluster(address(pair.target)) as target:
        checkpoints = CheckpointTopic(target, f"{stage.storage.source}.checkpoints.internal")
        checkpoints.read_on()
        assert checkpoints.last(topic)[f"{stage.storage.source}.{topic}", 0].upstream_offset == 3

    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        assert not mirror.facts()
    stage.assert_all_there(topic)
    assert read_all(pair.target, f"{stage.storage.source}.{topic}")[0] == read_all(pair.source, topic)[0], "equal"


def test_a_flow_that_runs_and_states_of_others_are_refused(
    stage: Stage, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = stage.pair
    create_topic(pair.source, topic)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(30)))
    file = stage.write_file(topic)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        assert stage.run("export")[0] == 0
        code, said = stage.run("import")
        assert code == 1 and f"flow {mirror.flow.name} runs" in said
        stage.lose_topics()
        monkeypatch.setattr(StateKeeper, "watch_s", WATCH_S)
        code, said = stage.run("import")
        assert code == 1 and f"flow {mirror.flow.name} runs" in said, said
        with Cluster(address(pair.target)) as target:
            progress = ProgressTopic(target, stage.storage, 1)
            await_condition(
                lambda: progress.read() == mirror.keeper.progress.written != {}, "the driver's own progress", 30
            )
    state = read_state_file(stage.state)
    strange = {
        "source": replace(state.head, source_cluster="another"),
        "target": replace(state.head, target_cluster="another"),
    }
    for side, head in strange.items():
        write_state_file(stage.state, replace(state, head=head))
        code, said = stage.run("import")
        assert code == 2 and f"state of another {side}: cluster id another" in said
    write_state_file(stage.state, replace(state, sections={**state.sections, "progress": {b"[]": b"{}"}}))
    assert stage.run("import")[0] == 2
    whole = stage.state.read_bytes()
    stage.state.write_bytes(whole[:-20])
    code, said = stage.run("import")
    assert code == 2 and "cut or damaged" in said

    write_state_file(stage.state, state)
    delete_topic(pair.target, stage.storage.claims)
    await_condition(lambda: stage.storage.claims not in topics(pair.target), "the claims to be gone")
    newer = Standing(31, 30, 31)
    with Cluster(address(pair.target)) as target:
        progress = ProgressTopic(target, stage.storage, 1)
        progress.ensure()
        progress.write({(topic, 0): newer})
        monkeypatch.setattr(StateKeeper, "watch_s", 0.1)
        found = stage.document()
        (row,) = [row for row in found["rows"] if row["part"] == "partition" and row["name"].startswith(topic)]
        assert (found["code"], row["action"]) == (0, "kept") and "goes on at source offset 31" in row["why"]
        assert progress.read() == {(topic, 0): newer}
        stage.lose_topics()
        other = Claims(target, stage.storage, 1)
        claimed = other.claim_producer_id()
    found = stage.document()
    assert found["code"] == 1 and f"it claims producer id {claimed}" in found["refusal"]
    assert stage.internal == [stage.storage.claims]
