"""Include and exclude lists."""

from __future__ import annotations

import pickle

import pytest

from sparkmirror.errors import ConfigError
from sparkmirror.topology.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    NameFilter,
)


def test_names_and_regexes_match_whole_names() -> None:
    chosen = NameFilter.of(["orders", "logs-.*"])
    assert [t for t in ("orders", "orders2", "my-orders", "logs-", "logs-a") if chosen.matches(t)] == [
        "orders",
        "logs-",
        "logs-a",
    ]


def test_exclude_wins() -> None:
    chosen = NameFilter.of([".*"], ["__.*", "secret"])
    assert chosen.matches("a") and not chosen.matches("__a") and not chosen.matches("secret")


def test_an_empty_include_matches_nothing_and_an_empty_exclude_keeps_all() -> None:
    assert not NameFilter.of([]).matches("a")
    assert NameFilter.of([".*"], []).matches("a")


def test_a_bad_element_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match=r"'\*' \(element 1 of 1\)"):
        NameFilter.of([".*"], ["*"])


def test_a_filter_travels_by_pickle() -> None:
    chosen = NameFilter.of([".*"], ["x"])
    assert pickle.loads(pickle.dumps(chosen)) == chosen


def test_the_default_filters_of_topics_and_groups_go_by_names() -> None:
    names = NameFilter.of(["a.*"], ["ab"])
    assert DefaultTopicFilter(names).should_replicate_topic("a") and DefaultGroupFilter(names).should_replicate_group(
        "a"
    )
    assert not DefaultTopicFilter(names).should_replicate_topic("ab")
    assert not DefaultGroupFilter(names).should_replicate_group("b")


def test_configurations_are_left_out_by_regex_and_defaults_are_the_targets() -> None:
    chosen = DefaultConfigPropertyFilter.of(["min.*", "message.timestamp.type"])
    assert chosen.should_replicate_config_property("retention.ms")
    assert not chosen.should_replicate_config_property("min.insync.replicas")
    assert not chosen.should_replicate_source_default("retention.ms")
    assert DefaultConfigPropertyFilter.of([], "source").should_replicate_source_default("retention.ms")
