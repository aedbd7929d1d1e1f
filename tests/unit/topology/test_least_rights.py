"""The table of least rights: README shows it, and each flow is asked for what it uses."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sparkmirror.topology.least_rights import (
    SOURCE,
    TABLE,
    TARGET,
    TO_USE_TRANSACTIONS,
    Names,
    plan_rights,
    render_table,
)
from sparkmirror.topology.right import CLUSTER, GROUP, TOPIC, Right
from tests.support.flow_text import flow_of

README = Path(__file__).parents[3] / "README.md"


def rights_of(more: str = "") -> set[tuple[str, Right]]:
    flow = flow_of(more)
    return {(row.side, right) for row, right in plan_rights(flow, Names.of(flow, ["t"], ["g"]))}


def test_readme_shows_the_table() -> None:
    assert render_table() in README.read_text()


def test_every_row_is_on_something_that_a_flow_has() -> None:
    fields = {field.name for field in dataclasses.fields(Names)}
    assert all(row.on in fields or not row.on for row in TABLE)
    assert all(row.operations and row.without for row in TABLE)


def test_a_command_grants_it_by_name_or_by_prefix() -> None:
    assert Right("DESCRIBE_CONFIGS", TOPIC, "t").grant("User:m", "h:1") == (
        "kafka-acls.sh --bootstrap-server h:1 --add --allow-principal User:m --operation DescribeConfigs --topic t"
    )
    assert Right("ALTER", CLUSTER).grant("User:m", "h:1").endswith("--operation Alter --cluster")
    assert TO_USE_TRANSACTIONS.grant("User:CN=a b", "h:1").endswith(
        "'User:CN=a b' --operation Write --transactional-id sparkmirror. --resource-pattern-type prefixed"
    )


def test_right_and_resource_are_named_in_words() -> None:
    assert Right("READ", TOPIC, "t").at("A") == "READ on topic t of cluster A"
    assert Right("ALTER", CLUSTER).at("A") == "ALTER on cluster A"
    assert TO_USE_TRANSACTIONS.at("A") == "WRITE on transactional ids sparkmirror.* of cluster A"


def test_what_is_switched_off_needs_no_right() -> None:
    everything = rights_of("sync.group.offsets.enabled=true\nsync.group.deletes.enabled=true")
    assert (SOURCE, Right("READ", TOPIC, "t")) in everything
    assert (TARGET, Right("READ", GROUP, "g")) in everything and (TARGET, Right("DELETE", GROUP, "g")) in everything
    assert (SOURCE, Right("WRITE", TOPIC, "mm2-offset-syncs.b.internal")) in everything
    least = rights_of(
        "offsets.preserve=never\nsync.topic.acls.enabled=false\nsync.topic.configs.enabled=false\n"
        "emit.checkpoints.enabled=false\nemit.heartbeats.enabled=false\nemit.offset-syncs.enabled=false"
    )
    assert {right for side, right in least if side == SOURCE} == {Right("READ", TOPIC, "t")}
    assert not {right for _, right in least if right.resource != TOPIC}
    assert {right.operation for _, right in least if right.name == "a.t"} == {"READ", "WRITE", "CREATE", "ALTER"}


def test_offset_syncs_are_where_the_file_says() -> None:
    there = rights_of("offset-syncs.topic.location=target")
    assert (TARGET, Right("WRITE", TOPIC, "mm2-offset-syncs.a.internal")) in there
    assert not {right for side, right in there if side == SOURCE and right.operation == "WRITE"}
