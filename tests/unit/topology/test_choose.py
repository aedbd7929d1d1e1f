"""Java's class names stand for ours; others are Python classes below `plugin.path`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.errors import ConfigError
from sparkmirror.topology.choose import (
    choose_config_filter,
    choose_group_filter,
    choose_policy,
    choose_topic_filter,
    find_unmatched,
)
from sparkmirror.topology.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from sparkmirror.topology.select import TopicSelector
from tests.support.flow_text import flow_of

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "plugins"


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return f"plugin.path={folder}\n"


@pytest.mark.parametrize(
    "name",
    [
        "IdentityReplicationPolicy",
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy",
        "LegacyReplicationPolicy",
        "org.apache.kafka.connect.mirror.LegacyReplicationPolicy",
        "org.apache.kafka.mirror.LegacyReplicationPolicy",
    ],
)
def test_identity_and_legacy_keep_names(name: str) -> None:
    policy = choose_policy(flow_of(f"replication.policy.class={name}\n"))
    assert isinstance(policy, IdentityReplicationPolicy)
    assert (policy.format_remote_topic("a", "t"), policy.topic_source("t")) == ("t", "a")


def test_the_default_policy_has_the_files_separator_and_aliases() -> None:
    text = "replication.policy.separator=_\nreplication.policy.internal.topic.separator.enabled=false\n"
    policy = choose_policy(flow_of(text))
    assert isinstance(policy, DefaultReplicationPolicy)
    assert (policy.separator, policy.aliases) == ("_", ("a", "b"))
    assert policy.checkpoints_topic("a") == "a.checkpoints.internal"
    assert choose_policy(flow_of("replication.policy.separator=_\n")).checkpoints_topic("a") == "a_checkpoints_internal"


# -- plugins


def test_the_example_policy_and_filter_rule_a_flow() -> None:
    text = f"plugin.path=/nowhere,{EXAMPLES}\nreplication.policy.class=team_names.TeamPolicy\n"
    text += "topic.filter.class=team_names.NotSecret\ntopics.exclude=hr\n"
    chosen = TopicSelector.of(flow_of(text))
    assert chosen.remote_name("orders") == "orders--from-a"
    assert chosen.should_replicate("orders--from-c") and not chosen.should_replicate("orders--from-b")
    assert not chosen.should_replicate("orders--from-b--from-c")
    assert not chosen.should_replicate("top-secret") and not chosen.should_replicate("hr-wages")
    assert not chosen.should_replicate("internal-x")
    assert chosen.policy.is_heartbeats_topic("heartbeats--from-c")
    assert chosen.policy.offset_syncs_topic("b") == "mm2-offset-syncs.b.internal"


def test_java_spelling_is_taken_and_the_rest_is_as_in_java(tmp_path: Path) -> None:
    lines = [
        "class Policy:",
        "    def formatRemoteTopic(self, source, topic): return f'{source}/{topic}'",
        "    def topicSource(self, topic): return topic.split('/')[0] if '/' in topic else None",
        "    def upstreamTopic(self, topic): return topic.split('/', 1)[1] if '/' in topic else None",
    ]
    where = write(tmp_path, "java_like.py", "\n".join(lines))
    policy = choose_policy(flow_of(where + "replication.policy.class=java_like.Policy\n"))
    assert policy.original_topic("a/b/t") == "t"
    assert policy.is_heartbeats_topic("a/heartbeats") and policy.heartbeats_topic() == "heartbeats"
    assert policy.is_internal_topic("__x") and policy.checkpoints_topic("a") == "a.checkpoints.internal"


def test_modules_of_packages_find_their_own(tmp_path: Path) -> None:
    write(tmp_path, "acme_mirror/__init__.py", "")
    write(tmp_path, "acme_mirror/words.py", "WORD = 'x'\n")
    text = "from .words import WORD\nclass Filter:\n    def should_replicate_group(self, group): return group == WORD\n"
    where = write(tmp_path, "acme_mirror/groups.py", text)
    chosen = choose_group_filter(flow_of(where + "group.filter.class=acme_mirror.groups.Filter\n"))
    assert chosen.should_replicate_group("x") and not chosen.should_replicate_group("y")


def test_a_config_filter_may_leave_the_question_of_defaults(tmp_path: Path) -> None:
    text = "class Filter:\n    def should_replicate_config_property(self, name): return name == 'retention.ms'\n"
    where = write(tmp_path, "only_retention.py", text)
    chosen = choose_config_filter(flow_of(where + "config.property.filter.class=only_retention.Filter\n"))
    assert chosen.should_replicate_config_property("retention.ms")
    assert not chosen.should_replicate_config_property("cleanup.policy")
    assert not chosen.should_replicate_source_default("retention.ms")


@pytest.mark.parametrize("name", ["os.path.join", "json.JSONDecoder", "sparkmirror.topology.custom.CustomPolicy"])
def test_only_files_below_plugin_path_are_loaded(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"no module {name.split('.', maxsplit=1)[0]} below plugin.path"):
        choose_policy(flow_of(f"plugin.path={tmp_path}\nreplication.policy.class={name}\n"))


def test_a_file_with_the_name_of_a_loaded_module_is_refused(tmp_path: Path) -> None:
    where = write(tmp_path, "json.py", "class Policy: pass\n")
    with pytest.raises(ConfigError, match="a name that is taken, json"):
        choose_policy(flow_of(where + "replication.policy.class=json.Policy\n"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("com.acme.Policy", "looks like a Java class"),
        ("Policy", "module.Class"),
        ("mine.Policy", "name its folder in plugin.path"),
    ],
)
def test_without_a_plugin_path_only_kafkas_classes_are_known(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        choose_policy(flow_of(f"replication.policy.class={name}\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no class Broken"),
        ("Broken = 3", "has no class Broken"),
        ("class Broken: pass", "has no method format_remote_topic"),
        ("raise OSError('no')", "can't be loaded: OSError: no"),
        ("class Broken:\n    def __init__(self): raise ValueError('bad')", "can't be made: ValueError: bad"),
    ],
)
def test_a_broken_plugin_is_named(tmp_path: Path, request: pytest.FixtureRequest, text: str, said: str) -> None:
    module = f"broken_{abs(hash(request.node.name))}"
    where = write(tmp_path, f"{module}.py", text)
    with pytest.raises(ConfigError, match=said):
        choose_policy(flow_of(where + f"replication.policy.class={module}.Broken\n"))


def test_answers_of_plugins_are_checked(tmp_path: Path) -> None:
    text = "class Odd:\n    def should_replicate_topic(self, topic): return {'x': 1}[topic]\n"
    chosen = choose_topic_filter(
        flow_of(write(tmp_path, "odd_answers.py", text) + "topic.filter.class=odd_answers.Odd\n")
    )
    with pytest.raises(ConfigError, match=r"should_replicate_topic\('x'\) answered 1: expected bool"):
        chosen.should_replicate_topic("x")
    with pytest.raises(ConfigError, match=r"should_replicate_topic\('y'\) failed: KeyError"):
        chosen.should_replicate_topic("y")


def test_elements_of_topics_that_mirror_nothing_are_named() -> None:
    topics = ("orders", "logs-eu", "x.replica", "__consumer_offsets")

    def found(value: str) -> list[str]:
        return list(find_unmatched(flow_of(f"topics = {value}"), topics))

    assert found("orders, logs-.*") == found(".*") == found("(orders, clicks)") == []
    assert found("logs-*, orders") == ["no topic of a matches logs-*, or the user may not see it"]
    assert found("x.*") == ["topics.exclude leaves out all that x.* matches: x.replica"]
