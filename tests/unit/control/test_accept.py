"""What the target alone has, and would lose with its topic."""

from __future__ import annotations

import pytest

from sparkmirror.control.accept import Lost, find_lost
from sparkmirror.topology.standing import Standing

PLACE = ("orders", 0)
EQUAL = Standing(100, target_end=100, source_id="a")
TRANSLATED = EQUAL._replace(translated="why")


@pytest.mark.parametrize(
    ("source", "target", "known", "expected"),
    [
        ((0, 100), (0, 100), EQUAL, []),
        ((0, 500), (0, 100), EQUAL, []),
        ((40, 500), (50, 100), EQUAL, []),
        ((40, 500), (10, 100), EQUAL, [(10, 40, True)]),
        ((0, 60), (0, 100), EQUAL, [(60, 100, True)]),
        ((4, 60), (0, 100), EQUAL, [(0, 4, True), (60, 100, True)]),
        ((0, 500), (0, 120), EQUAL, [(100, 120, True)]),
        ((200, 500), (0, 100), EQUAL, [(0, 100, True)]),
        ((0, 500), (0, 100), EQUAL._replace(source_id="other"), [(0, 100, True)]),
        ((0, 500), (0, 100), TRANSLATED, [(0, 100, False)]),
        ((0, 500), (0, 100), None, [(0, 100, True)]),
        (None, (0, 100), EQUAL, [(0, 100, True)]),
        (None, (0, 0), None, []),
    ],
)
def test_what_would_be_lost_is_named(
    source: tuple[int, int] | None,
    target: tuple[int, int],
    known: Standing | None,
    expected: list[tuple[int, int, bool]],
) -> None:
    progress = {PLACE: known} if known else {}
    assert list(find_lost(PLACE, source, target, progress, "a")) == [Lost(PLACE, *each) for each in expected]
