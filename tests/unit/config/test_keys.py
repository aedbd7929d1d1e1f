"""The table of known keys holds together."""

from __future__ import annotations

from sparkmirror.config.keys import KNOWN_KEYS, State
from sparkmirror.config.notices import nearest_key


def test_every_default_passes_its_own_parser() -> None:
    for key in KNOWN_KEYS.values():
        key.parse(key.default)


def test_a_key_that_is_settled_says_why() -> None:
    settled = [key for key in KNOWN_KEYS.values() if key.state in (State.BETTER, State.IMPOSSIBLE)]
    assert settled and all(key.why for key in settled)


def test_fallbacks_are_known() -> None:
    assert all(name in KNOWN_KEYS for key in KNOWN_KEYS.values() for name in key.fallbacks)


def test_a_slip_of_the_pen_finds_its_key() -> None:
    assert nearest_key("task.max") == "tasks.max"
    assert nearest_key("refresh.topic.interval.seconds") == "refresh.topics.interval.seconds"
    assert nearest_key("something.else.entirely") is None
