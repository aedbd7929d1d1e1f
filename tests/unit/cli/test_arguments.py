"""`--clusters A B` as MirrorMaker 2 takes it."""

from __future__ import annotations

import pytest

from sparkmirror.cli.arguments import spread_clusters


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["f", "--clusters", "A", "B"], ["f", "--clusters", "A", "--clusters", "B"]),
        (["f", "--clusters", "A,B", "--once"], ["f", "--clusters", "A", "--clusters", "B", "--once"]),
        (["f", "--clusters=A", "--log-level", "debug"], ["f", "--clusters", "A", "--log-level", "debug"]),
        (["run", "f"], ["run", "f"]),
    ],
)
def test_a_list_after_clusters_is_spread(given: list[str], expected: list[str]) -> None:
    assert spread_clusters(given) == expected
