"""COMPATIBILITY.md says of each key what the table of keys says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.config.keys import KNOWN_KEYS, State
from sparkmirror.config.values import text_list

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "COMPATIBILITY.md").read_text()
KEY = re.compile(r"`([^`]+)`")
STATES = {state.value: state for state in State}


def rows(heading: str, columns: int) -> Iterator[list[str]]:
    """The cells of the first table below a heading."""
    below = PAGE.split(f"{heading}\n", 1)[1].lstrip().partition("\n|")[2]
    for line in ("|" + below).split("\n\n")[0].splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        yield (cells + [""] * columns)[:columns]


KEY_ROWS = [(KEY.findall(keys), state, why, test) for keys, state, why, test in rows("## Keys", 4)]


def test_every_key_is_there_once_with_its_state() -> None:
    said = [(name, STATES[state]) for names, state, _, _ in KEY_ROWS for name in names]
    assert len(said) == len(dict(said))
    assert dict(said) == {name: key.state for name, key in KNOWN_KEYS.items()}


def test_what_is_settled_has_its_reason() -> None:
    for names, state, why, _ in KEY_ROWS:
        if STATES[state] in (State.BETTER, State.IMPOSSIBLE):
            assert {KNOWN_KEYS[name].why for name in names} == {why}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[^`]+)`", PAGE))))
def test_every_test_that_is_named_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_defaults_are_those_of_the_table() -> None:
    for name, _, _, mirrormaker, here, why in rows("### Defaults", 6):
        key = KNOWN_KEYS[name.strip("`")]
        assert _plain(here) == _plain(key.default)
        if mirrormaker != "no such key":
            assert _plain(mirrormaker) == _plain(key.default if key.mm2_default is None else key.mm2_default)
        assert bool(why) == (mirrormaker != here)


def _plain(text: str) -> tuple[str, ...]:
    bare = text.strip("`").replace("org.apache.kafka.connect.mirror.", "")
    return () if bare == "none" else text_list(bare)
