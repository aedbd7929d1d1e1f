"""Which groups of Kafka Connect's workers hold a MirrorMaker 2 of the flow. Members say what a test has them say;
tests/long/test_rival_in_connect.py has real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.control import rival
from sparkmirror.control.address import flow_address
from sparkmirror.control.connect_topics import Known
from sparkmirror.control.rival import RivalWatch, worker_group
from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.protocol import codes
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.connect_messages import assignment, metadata
from tests.support.connect_scene import Scene, connect_scene
from tests.support.flows import only_flow, write_flow
from tests.support.group_members import PlantedMember
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics
from tests.support.local_mirror import mirroring


@pytest.fixture
def scene(pair: Pair, topic: str, tmp_path: Path) -> Iterator[Scene]:
    with connect_scene(pair.source, pair.target, topic, tmp_path) as scene:
        yield scene


def test_a_connector_with_a_task_is_named_until_its_worker_leaves(scene: Scene) -> None:
    scene.keep()
    scene.hold()
    assert scene.watch.look() == scene.said
    scene.member.leave()
    assert scene.watch.look() == ""


def test_what_is_found_stands_while_the_workers_say_the_same(scene: Scene) -> None:
    """The topic is looked for once: here it is gone by the second look."""
    scene.keep()
    scene.hold()
    assert scene.watch.look() == scene.said
    delete_topic(scene.target, scene.name)
    await_condition(lambda: scene.name not in topics(scene.target), "the end of the topic")
    assert scene.watch.look() == scene.said
    scene.hold(had={scene.connector: [-1, 0]}, tasks={})
    assert scene.watch.look() == ""


def test_what_is_known_stands_through_a_rebalance(scene: Scene) -> None:
    """A group that rebalances shows nothing; what is revoked runs until its worker joins again."""
    scene.keep()
    scene.hold()
    assert scene.watch.look() == scene.said
    scene.member.join(metadata(assignment({scene.connector: [-1, 0]})))
    assert scene.watch.look() == scene.said
    scene.member.take(assignment({}, revoked={scene.connector: [-1, 0]}))
    assert scene.watch.look() == scene.said
    scene.hold({}, had={})
    assert scene.watch.look() == ""


def test_tasks_that_wait_for_a_worker_to_return_are_still_there(scene: Scene) -> None:
    """Connect keeps them back for five minutes; a rolling restart is no end."""
    scene.keep()
    scene.hold()
    assert scene.watch.look() == scene.said
    scene.hold({}, delay_ms=300_000)
    assert scene.watch.look() == scene.said
    scene.hold({}, had={})
    assert scene.watch.look() == ""


def test_a_connector_without_tasks_copies_nothing(scene: Scene) -> None:
    scene.keep()
    scene.hold({scene.connector: [-1]})
    assert scene.watch.look() == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"},
        {"connector.class": None},
        {"source.cluster.alias": "other"},
        {"target.cluster.alias": "other"},
        {"target.cluster.alias": None},
        {"source.cluster.bootstrap.servers": "127.0.0.1:9"},
        {"source.cluster.bootstrap.servers": "${file:/somewhere:servers}"},
        {"source.cluster.bootstrap.servers": None},
        {"target.cluster.bootstrap.servers": "127.0.0.1:9"},
        {"producer.override.bootstrap.servers": "127.0.0.1:9"},
    ],
)
def test_other_connectors_are_not_named(scene: Scene, changes: dict[str, str | None]) -> None:
    scene.keep(changes)
    scene.hold()
    assert scene.watch.look() == ""


def test_servers_that_only_the_cluster_names_are_its_own(scene: Scene, tmp_path: Path) -> None:
    """Files name them as `localhost`, the brokers and the connector as 127.0.0.1."""
    source, target = (servers.replace("127.0.0.1", "localhost") for servers in (scene.source, scene.target))
    alias = scene.flow.source.alias
    (tmp_path / "more").mkdir()
    file = write_flow(tmp_path / "more", source, target, scene.name)
    file.write_text(file.read_text().replace(only_flow(file).source.alias, alias))
    flow = only_flow(file)
    scene.keep()
    scene.hold()
    with Cluster(flow_address(flow.source, flow)) as here, Cluster(flow_address(flow.target, flow)) as there:
        assert RivalWatch(flow, here, there).look() == scene.said


def test_a_topic_that_is_not_the_workers_tells_nothing(scene: Scene) -> None:
    """It is too short, not compacted, lacks a connector that they hold, or has records of another kind."""
    scene.keep()
    scene.hold(config_offset=4)
    assert scene.watch.look() == ""
    scene.hold({scene.connector: [0], f"{scene.name}-unknown": [-1]})
    assert scene.watch.look() == ""
    scene.write(scene.name, {"user-7": b"{}"})
    scene.hold()
    assert scene.watch.look() == ""
    scene.keep(topic=f"{scene.name}-deleting", config="delete")
    scene.hold(config_offset=1)
    assert scene.watch.look() == ""


def test_a_configuration_that_was_deleted_is_none(scene: Scene) -> None:
    scene.keep()
    scene.write(scene.name, {f"connector-{scene.connector}": None})
    scene.hold()
    assert scene.watch.look() == ""


def test_topics_that_disagree_name_nobody(scene: Scene) -> None:
    """Such as those of a Connect cluster that is gone, or a mirrored copy."""
    scene.keep()
    scene.keep(topic=f"{scene.name}-copy")
    scene.hold()
    assert scene.watch.look() == scene.said
    scene.keep({"source.cluster.alias": "other"}, topic=f"{scene.name}-other")
    scene.hold(config_offset=1)
    assert scene.watch.look() == ""


def test_an_eager_worker_is_understood(scene: Scene) -> None:
    scene.keep()
    scene.member.join(metadata(version=0))
    scene.member.take(assignment({scene.connector: [-1, 0]}, version=0))
    assert scene.watch.look() == scene.said


@pytest.mark.parametrize(
    "said", [b"", b"\0", b"\0\1" * 9, b"\xff" * 99], ids=["nothing", "short", "nonsense", "no version"]
)
def test_words_that_nobody_understands_name_nobody(scene: Scene, said: bytes) -> None:
    scene.keep()
    scene.member.join(said)
    scene.member.take(assignment({scene.connector: [-1, 0]}))
    assert scene.watch.look() == ""
    scene.member.join(metadata())
    scene.member.take(said)
    assert scene.watch.look() == ""


def test_what_is_known_stands_while_brokers_move(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not when we are told that we may not know."""
    scene.keep()
    scene.hold()
    assert scene.watch.look() == scene.said
    for code, said in ((codes.COORDINATOR_NOT_AVAILABLE, scene.said), (codes.GROUP_AUTHORIZATION_FAILED, "")):
        with monkeypatch.context() as patch:
            patch.setattr(rival, "describe_groups", lambda *_, c=code, **__: {scene.name: BrokerError(c, "no")})
            assert scene.watch.look() == said
    assert scene.watch.look() == scene.said
    scene.hold(config_offset=1)
    with monkeypatch.context() as patch:
        patch.setattr(rival, "read_connectors", lambda *_: Known([], is_sure=False))
        assert scene.watch.look() == scene.said
    delete_topic(scene.target, scene.name)
    await_condition(lambda: scene.name not in topics(scene.target), "the end of the topic")
    assert scene.watch.look() == scene.said  # what could not be read is tried again in a minute
    scene.hold(config_offset=2)
    assert scene.watch.look() == ""


def test_a_mirrormaker_on_a_file_is_known_by_its_group(scene: Scene) -> None:
    """Its topic of configurations need not be read."""
    group = worker_group(scene.flow)
    with Cluster(flow_address(scene.flow.target, scene.flow)) as target:
        member = PlantedMember(target, group)
        member.join(metadata())
        member.take(assignment({"MirrorHeartbeatConnector": [-1, 0], "MirrorSourceConnector": [-1]}))
        assert scene.watch.look() == ""
        member.join(metadata())
        member.take(assignment({"MirrorHeartbeatConnector": [-1, 0], "MirrorSourceConnector": [-1, 0]}))
        assert f"(connector MirrorSourceConnector in group {group} of cluster B)" in scene.watch.look()
        member.leave()
        assert scene.watch.look() == ""


def test_a_run_that_waited_goes_on_by_the_progress_of_the_end(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by that of the day on which it took the lead."""
    monkeypatch.setattr("sparkmirror.control.rival.LOOK_SOON_S", 0.2)
    topic, flow = scene.name, scene.flow
    remote, source = f"{flow.source.alias}.{topic}-copied", f"{topic}-copied"
    file = tmp_path / "mm2.properties"
    file.write_text(file.read_text().replace(f"topics = {topic}", f"topics = {source}"))
    create_topic(scene.source, source, 1)
    create_topic(scene.target, remote, 1)
    scene.keep()
    scene.hold()
    with mirroring(file) as mirror:
        await_condition(lambda: mirror.keeper.view.problem_state == "waiting" and mirror.keeper.view.leads, "the wait")
        for servers, name in ((scene.source, source), (scene.target, remote)):  # as a MirrorMaker 2 would
            produce(servers, name, ({"value": b"%d" % i, "partition": 0} for i in range(10)))
        ProgressTopic(mirror.keeper.target, Storage.of(flow)).write({(source, 0): Standing(10)})
        produce(scene.source, source, ({"value": b"%d" % i, "partition": 0} for i in range(10, 15)))
        scene.member.leave()
        mirror.await_topics(1)
        mirror.catch_up(source)
        assert mirror.facts() == {}
    assert [record.value for record in read_all(scene.target, remote)[0]] == [b"%d" % i for i in range(15)]
