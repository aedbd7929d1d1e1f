"""What a node is told, and the folder it finds."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.embedded.settings import (
    Node,
    format_storage,
    formatted_cluster_id,
    new_id,
    plan_settings,
    properties_text,
    voter_count,
)


def nodes(count: int, data: Path = Path("/data")) -> list[Node]:
    voters = voter_count(count)
    return [
        Node(n, "127.0.0.1", 20000 + n, 21000 + n if n <= voters else None, data / str(n)) for n in range(1, count + 1)
    ]


def test_three_or_more_brokers_survive_the_loss_of_any_one() -> None:
    assert [voter_count(n) for n in (1, 2, 3, 5)] == [1, 1, 3, 3]


def test_roles_follow_the_voters() -> None:
    four = nodes(4)
    settings = [plan_settings(node, four, {}) for node in four]
    assert [s["process.roles"] for s in settings] == ["broker,controller"] * 3 + ["broker"]
    assert {s["controller.quorum.voters"] for s in settings} == {
        "1@127.0.0.1:21001,2@127.0.0.1:21002,3@127.0.0.1:21003"
    }
    assert "CONTROLLER" not in settings[3]["listeners"]


def test_internal_topics_fit_the_number_of_brokers() -> None:
    for count, replicas in ((1, "1"), (2, "2"), (3, "3"), (5, "3")):
        settings = plan_settings(nodes(count)[0], nodes(count), {})
        assert settings["offsets.topic.replication.factor"] == replicas
        assert settings["transaction.state.log.replication.factor"] == replicas


def test_overrides_win() -> None:
    settings = plan_settings(nodes(1)[0], nodes(1), {"num.partitions": "7", "log.segment.bytes": "1048576"})
    assert settings["num.partitions"] == "7"
    assert settings["log.segment.bytes"] == "1048576"


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


def test_ids_have_kafkas_form() -> None:
    for _ in range(200):
        made = new_id()
        assert len(made) == 22
        assert not made.startswith("-")
