"""What of a source lies behind what both logs prove."""

from __future__ import annotations

import pytest

from sparkmirror.control.copy_proof import Proof, SourceBounds, judge
from sparkmirror.topology.standing import Standing

AT_90 = Standing(90, 89, 90)


def proof(standing: Standing | None = AT_90, why: str = "", *, passes: bool = False) -> Proof:
    return Proof(remote=("A.t", 0), standing=standing, why=why, passes=passes)


@pytest.mark.parametrize(
    ("found", "source", "lag", "why"),
    [
        (proof(), SourceBounds(0, 90, 90), 0, ""),
        (proof(), SourceBounds(0, 95, 99), 5, ""),
        (proof(), SourceBounds(0, 80, 95), 0, ""),
        (proof(None), SourceBounds(20, 95, 99), 75, ""),
        (proof(None, "diverged: x"), SourceBounds(0, 95, 99), None, "diverged: x"),
        (proof(AT_90, "foreign-writer: x"), SourceBounds(0, 95, 99), 5, "foreign-writer: x"),
        (proof(), SourceBounds(92, 95, 99), 5, "gap: offsets 90..91 were removed before they were copied"),
        (proof(Standing(90, -1, 0, log_start=90)), SourceBounds(92, 95, 99), 5, ""),
        (proof(), None, None, "the source's leader does not answer"),
    ],
)
def test_what_is_left_to_copy_behind_what_is_proven(
    found: Proof, source: SourceBounds | None, lag: int | None, why: str
) -> None:
    judged = judge(found, source)
    assert (judged.lag, judged.why) == (lag, why)


def test_a_source_that_ends_before_what_was_mirrored_lacks_records_that_the_target_has() -> None:
    judged = judge(proof(), SourceBounds(0, 70, 70))
    assert (judged.others, judged.lag, judged.standing) == (20, None, None)
    assert judged.why.startswith("source-truncated: ") and judged.known == judged.why


def test_what_is_not_known_for_the_moment_passes() -> None:
    assert judge(proof(), None).passes
    assert not judge(proof(None, "diverged: x"), None).passes
