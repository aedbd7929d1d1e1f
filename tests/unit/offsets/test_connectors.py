"""What configurations of connectors say of where records come from and go to."""

from __future__ import annotations

import json

import pytest

from sparkmirror.offsets.connectors import Connector, is_known_key, note_connector, parse_places

CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


def noted(*values: bytes | None, key: bytes = b"connector-x") -> dict[str, Connector]:
    found: dict[str, Connector] = {}
    for value in values:
        note_connector(found, {"x", "y"}, key, value)
    return found


def configuration(**properties: object) -> bytes:
    return json.dumps({"properties": {key.replace("_", "."): value for key, value in properties.items()}}).encode()


def test_a_configuration_says_where_from_and_where_to() -> None:
    said = configuration(
        connector_class=CLASS,
        source_cluster_alias="A",
        target_cluster_alias="B",
        source_cluster_bootstrap_servers="K1:9092, [::1]:9093",
        target_cluster_bootstrap_servers="k2:9092",
        source_cluster_sasl_jaas_config="secret",
    )
    source, target = frozenset({("k1", 9092), ("::1", 9093)}), frozenset({("k2", 9092)})
    assert noted(said) == {"x": Connector(CLASS, "A", "B", source, target, None)}


def test_the_newest_record_holds() -> None:
    first, second = configuration(source_cluster_alias="A"), configuration(source_cluster_alias="C")
    assert noted(first, second)["x"].source == "C"
    assert noted(first, None) == {}
    assert noted(first, None, second)["x"].source == "C"


def test_others_are_passed_over() -> None:
    for key in (b"connector-z", b"task-x-0", b"connector-", b"x"):
        assert noted(configuration(), key=key) == {}


@pytest.mark.parametrize(
    "value", [b"", b"no JSON", b"[]", b"{}", b'{"properties":[1]}', b'{"properties":{"connector.class":7}}']
)
def test_what_says_nothing_is_no_mirror(value: bytes) -> None:
    found = noted(value)["x"]
    assert found == Connector("", "", "target", frozenset(), frozenset(), None) and not found.is_mirror


@pytest.mark.parametrize(
    ("kind", "is_mirror"),
    [
        (CLASS, True),
        ("MirrorSourceConnector", True),
        ("MirrorSource", True),
        ("org.apache.kafka.connect.mirror.MirrorCheckpointConnector", False),
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", False),
        ("", False),
    ],
)
def test_a_mirror_is_known_by_its_class(kind: str, is_mirror: bool) -> None:
    assert noted(configuration(connector_class=kind))["x"].is_mirror is is_mirror


def test_a_producer_of_its_own_is_told_from_none() -> None:
    assert noted(configuration(producer_override_bootstrap_servers="k3:1"))["x"].producer_servers == frozenset(
        {("k3", 1)}
    )
    assert noted(configuration(producer_override_bootstrap_servers="${a:b}"))["x"].producer_servers == frozenset()


def test_places_that_cannot_be_read_are_left_out() -> None:
    assert parse_places("a:1,SASL_SSL://b:2,,c,d:e,${file:/f:k}") == {("a", 1), ("b", 2)}


@pytest.mark.parametrize(
    ("key", "known"),
    [
        (b"connector-x", True),
        (b"commit-x", True),
        (b"session-key", True),
        (b"user-7", False),
        (b"", False),
        (None, False),
    ],
)
def test_connects_keys_are_told_from_others(key: bytes | None, known: bool) -> None:
    assert is_known_key(key) is known
