"""A fact's name is split from its text only where there is one."""

from __future__ import annotations

import pytest

from sparkmirror.topology.fact import Fact, split_name


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("gap: source offsets 1..2", ("gap", "source offsets 1..2")),
        ("source-recreated: it: was", ("source-recreated", "it: was")),
        ("corrupt: two\nlines", ("corrupt", "two\nlines")),
        ("cluster A: no broker answers", ("", "cluster A: no broker answers")),
        ("it stands still", ("", "it stands still")),
        ("-gap: x", ("", "-gap: x")),
    ],
)
def test_the_name_stands_before_the_first_colon(said: str, expected: tuple[str, str]) -> None:
    assert split_name(said) == expected
    name, error = expected
    assert Fact(kind="stopped", name=name, error=error).said == said
