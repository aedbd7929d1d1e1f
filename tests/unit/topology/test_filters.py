"""Include and exclude lists."""

from __future__ import annotations

import pickle

import pytest

from sparkmirror.errors import ConfigError
from sparkmirror.topology.filters import TopicFilter


def test_names_and_regexes_match_whole_names() -> None:
    chosen = TopicFilter.of(["orders", "logs-.*"])
    assert [t for t in ("orders", "orders2", "my-orders", "logs-", "logs-a") if chosen.matches(t)] == [
        "orders",
        "logs-",
        "logs-a",
    ]


def test_exclude_wins() -> None:
    chosen = TopicFilter.of([".*"], ["__.*", "secret"])
    assert chosen.matches("a") and not chosen.matches("__a") and not chosen.matches("secret")


def test_an_empty_include_matches_nothing_and_an_empty_exclude_keeps_all() -> None:
    assert not TopicFilter.of([]).matches("a")
    assert TopicFilter.of([".*"], []).matches("a")


def test_a_bad_element_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match=r"'\*' \(element 1 of 1\)"):
        TopicFilter.of([".*"], ["*"])


def test_a_filter_travels_by_pickle() -> None:
    chosen = TopicFilter.of([".*"], ["x"])
    assert pickle.loads(pickle.dumps(chosen)) == chosen
