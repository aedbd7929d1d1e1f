"""How a group stands on the target, and what keeps it from its place."""

from __future__ import annotations

import pytest

from sparkmirror.control.group_survey import AHEAD, BEHIND, LAGGING, SYNCED, UNKNOWN, judge
from sparkmirror.errors import BrokerError
from sparkmirror.groups.translator import Answer
from sparkmirror.net.groups import GroupState
from sparkmirror.offsets.offset_map import Translated

EMPTY, STABLE = GroupState("Empty"), GroupState("Stable", members=2)
NOT_YET = "it has read records that are not mirrored yet"
AT_TEN = Answer(("a.t", 0), Translated(10))


@pytest.mark.parametrize(
    ("answer", "there", "state", "expected"),
    [
        (AT_TEN, 10, EMPTY, (SYNCED, "")),
        (AT_TEN, 10, STABLE, (SYNCED, "")),
        (AT_TEN, 4, EMPTY, (BEHIND, "")),
        (AT_TEN, None, EMPTY, (BEHIND, "")),
        (AT_TEN, 4, STABLE, (BEHIND, "it is Stable on the target, with 2 members")),
        (AT_TEN, 4, BrokerError(30, "no right"), (BEHIND, "no right")),
        (AT_TEN, 12, EMPTY, (AHEAD, "it has read on there")),
        (Answer(("a.t", 0), Translated(10, is_exact=False)), 10, EMPTY, (LAGGING, NOT_YET)),
        (Answer(("a.t", 0), None, "why"), None, EMPTY, (UNKNOWN, "why")),
    ],
)  # fmt: skip
def test_each_state_is_told(
    answer: Answer, there: int | None, state: GroupState | BrokerError, expected: tuple[str, str]
) -> None:
    assert judge(answer, there, state) == expected
