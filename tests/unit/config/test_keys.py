"""The table of known keys holds together."""

from __future__ import annotations

from sparkmirror.config.keys import KNOWN_KEYS
from sparkmirror.config.recognise import is_known, suggestion


def test_every_default_passes_its_own_parser() -> None:
    for key in KNOWN_KEYS.values():
        key.parse(key.default)


def test_every_key_in_the_table_is_known_and_suggests_nothing() -> None:
    assert all(is_known(name) and suggestion(name) is None for name in KNOWN_KEYS)


def test_a_slip_of_case_or_ending_finds_its_key() -> None:
    assert suggestion("Tasks.Max") == "tasks.max"
    assert suggestion("refresh.topic.interval.seconds") == "refresh.topics.interval.seconds"
    assert suggestion("something.else.entirely") is None
