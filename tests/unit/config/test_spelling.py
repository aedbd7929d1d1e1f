"""What people write instead of MirrorMaker 2's keys and values is read as they meant it, and said."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig, MirrorConfig

BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"


def parse(more: str) -> tuple[MirrorConfig, FlowConfig]:
    config = parse_mirror_config(BASE + more, "f")
    return config, config.flows[0]


@pytest.mark.parametrize(
    ("line", "read_as", "value"),
    [
        ("topics.blacklist = x", "topics.exclude", ("x",)),
        ("a->b.topics.blacklist = x", "a->b.topics.exclude", ("x",)),
        ("Topics.Blacklist = x", "topics.exclude", ("x",)),
        ("a->b.TOPICS.EXCLUDE = x", "a->b.topics.exclude", ("x",)),
    ],
)
def test_a_key_by_another_name(line: str, read_as: str, value: tuple[str, ...]) -> None:
    config, flow = parse(line)
    assert flow.topics_exclude == value
    assert config.warnings == (f"f:5: {line.split(' ', maxsplit=1)[0]}: read as {read_as}",)
    assert config.not_in_force == ()


def test_the_other_names_of_groups_configs_and_offset_syncs() -> None:
    _, flow = parse(
        "groups.blacklist=x\nconfig.properties.blacklist=y\noffset.syncs.topic.replication.factor=1\n"
        "emit.offset.syncs.enabled=false\nemit.checkpoints.enabled=false\n"
    )
    assert (flow.groups.exclude, flow.sync.configs_exclude) == (("x",), ("y",))
    assert (flow.offset_syncs.topic.replication_factor, flow.offset_syncs.topic.is_wanted) == (1, False)


@pytest.mark.parametrize(
    "name",
    [
        "refresh.topics",
        "refresh.groups",
        "sync.topic.configs",
        "sync.topic.acls",
        "sync.group.offsets",
        "emit.checkpoints",
        "emit.heartbeats",
    ],
)
def test_every_interval_may_be_in_milliseconds(name: str) -> None:
    config, flow = parse(f"sync.group.offsets.enabled=true\n{name}.interval.ms = 2500\n")
    values = [
        flow.refresh_topics_interval_s,
        flow.groups.refresh_interval_s,
        flow.sync.configs_interval_s,
        flow.sync.acls_interval_s,
        flow.groups.sync_offsets_interval_s,
        flow.groups.checkpoints_interval_s,
        flow.heartbeats.interval_s,
    ]
    assert values.count(2.5) == 1
    assert config.warnings == (f"f:6: {name}.interval.ms: read as {name}.interval.seconds",)


def test_the_right_name_wins_over_another() -> None:
    config, flow = parse("topics.blacklist = x\ntopics.exclude = y\n")
    assert flow.topics_exclude == ("y",)
    assert config.warnings == ("f:5: topics.blacklist changes nothing: topics.exclude at line 6 wins over it",)


@pytest.mark.parametrize(
    ("value", "topics"),
    [
        ('"x"', ("x",)),
        ("'x, y'", ("x", "y")),
        ('"x", "y"', ("x", "y")),
        ('"*.x,y*"', (r".*\.x", "y*")),
        ("*", (".*",)),
        ("*-logs", (".*-logs",)),
        ('x"', ('x"',)),
    ],
)
def test_quotes_and_globs(value: str, topics: tuple[str, ...]) -> None:
    config, flow = parse(f"topics = {value}\n")
    assert flow.topics == topics
    assert config.warnings


def test_quotes_of_a_secret_may_be_part_of_it() -> None:
    config, flow = parse('a.ssl.key.password = "x"\n')
    assert flow.security.source_consumer == {"ssl.key.password": '"x"'}
    assert config.warnings == ()


def test_clusters_in_any_case() -> None:
    assert len(parse_mirror_config(BASE.replace("clusters", "Clusters"), "f").flows) == 1
