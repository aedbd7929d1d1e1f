"""What a node is told, and the folder it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.embedded.settings import (
    Listener,
    Node,
    plan_settings,
    plan_zookeeper_settings,
    properties_text,
    voter_count,
)
from sparkmirror.embedded.storage import format_nodes, format_storage, formatted_cluster_id, new_id
from sparkmirror.embedded.versions import KAFKA_VERSION, VERSIONS, KafkaVersion

NEWEST = VERSIONS[KAFKA_VERSION]
every_version = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)


def nodes(count: int, data: Path = Path("/data")) -> list[Node]:
    voters = voter_count(count)
    return [
        Node(n, "127.0.0.1", 20000 + n, 21000 + n if n <= voters else None, data / str(n)) for n in range(1, count + 1)
    ]


def test_three_or_more_brokers_survive_the_loss_of_any_one() -> None:
    assert [voter_count(n) for n in (1, 2, 3, 5)] == [1, 1, 3, 3]


def test_roles_follow_the_voters() -> None:
    four = nodes(4)
    settings = [plan_settings(NEWEST, node, four, {}) for node in four]
    assert [s["process.roles"] for s in settings] == ["broker,controller"] * 3 + ["broker"]
    assert {s["controller.quorum.voters"] for s in settings} == {
        "1@127.0.0.1:21001,2@127.0.0.1:21002,3@127.0.0.1:21003"
    }
    assert "CONTROLLER" not in settings[3]["listeners"]


@every_version
def test_internal_topics_fit_the_number_of_brokers(version: KafkaVersion) -> None:
    for count, replicas in ((1, "1"), (2, "2"), (3, "3"), (5, "3")):
        settings = plan_settings(version, nodes(count)[0], nodes(count), {})
        assert settings["offsets.topic.replication.factor"] == replicas
        assert settings["transaction.state.log.replication.factor"] == replicas


@every_version
def test_overrides_win(version: KafkaVersion) -> None:
    settings = plan_settings(version, nodes(1)[0], nodes(1), {"num.partitions": "7", "log.segment.bytes": "1048576"})
    assert settings["num.partitions"] == "7"
    assert settings["log.segment.bytes"] == "1048576"


@every_version
def test_state_is_in_the_quorum_or_in_zookeeper(version: KafkaVersion) -> None:
    settings = plan_settings(version, nodes(1)[0], nodes(1), {}, "127.0.0.1:2181")
    quorum = {"process.roles", "node.id", "controller.quorum.voters", "controller.listener.names"}
    zookeeper = {"broker.id", "zookeeper.connect"}
    assert (quorum | zookeeper) & set(settings) == (zookeeper if version.zookeeper else quorum)
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001"


def test_share_groups_are_set_only_where_they_are_known() -> None:
    for version in VERSIONS.values():
        settings = plan_settings(version, nodes(1)[0], nodes(1), {}, "127.0.0.1:2181")
        assert any(key.startswith("share.") for key in settings) == (version is NEWEST)


def test_zookeeper_listens_on_loopback_alone() -> None:
    settings = plan_zookeeper_settings("127.0.0.1", 2181, Path("/data"))
    assert (settings["clientPortAddress"], settings["clientPort"]) == ("127.0.0.1", "2181")
    assert settings["admin.enableServer"] == "false"


def test_values_survive_the_properties_format() -> None:
    assert properties_text({"a": "C:\\x", "b": "two\nlines"}) == "a=C:\\\\x\nb=two\\nlines\n"


def test_formatting_again_keeps_the_folder(tmp_path: Path) -> None:
    checkpoint = tmp_path / "bootstrap.checkpoint"
    checkpoint.write_bytes(b"features")
    node = nodes(1, tmp_path)[0]
    first = new_id()
    format_storage(node, first, checkpoint)
    format_storage(node, new_id(), checkpoint)
    assert formatted_cluster_id(node.data) == first
    assert (node.data / "bootstrap.checkpoint").read_bytes() == b"features"


def test_nodes_that_join_get_the_clusters_id(tmp_path: Path) -> None:
    checkpoint = tmp_path / "bootstrap.checkpoint"
    checkpoint.write_bytes(b"features")
    three = nodes(3, tmp_path)
    format_storage(three[1], "known", checkpoint)
    format_nodes(three, checkpoint)
    assert {formatted_cluster_id(node.data) for node in three} == {"known"}


def test_ids_have_kafkas_form() -> None:
    for _ in range(200):
        made = new_id()
        assert len(made) == 22
        assert not made.startswith("-")


def test_clients_of_a_proxied_listener_are_sent_to_the_proxy() -> None:
    more = {"MIRROR": Listener(20011, "PLAINTEXT", 20012), "OTHER": Listener(20013, "SSL")}
    node = Node(id=1, host="127.0.0.1", port=20001, controller_port=None, data=Path("data"), more=more)
    assert node.for_clients.endswith("MIRROR://127.0.0.1:20011,OTHER://127.0.0.1:20013")
    assert node.advertised.endswith("MIRROR://127.0.0.1:20012,OTHER://127.0.0.1:20013")
