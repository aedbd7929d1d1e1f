"""`--once`: what is missing is told by its reason, and a run ends with what was done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.lag import Ends
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.once import OnceGoal
from sparkmirror.copy.receipt import COPIED, WAITING, Receipt
from sparkmirror.topology.standing import Standing

FLOW = "A->B"


def keeper(ends: dict[tuple[str, int], int] | None) -> FlowKeeper:
    """What the goal reads of one."""
    places = [SimpleNamespace(topic=topic, partition=partition) for topic, partition in ends or {}]
    landscape = SimpleNamespace(partitions=places, pending=0) if ends is not None else None
    known = {place: Ends(end, end, 0) for place, end in (ends or {}).items()}
    view = SimpleNamespace(landscape=landscape, ends=known, halt=None, problem="cluster B: no broker answers")
    return cast(FlowKeeper, SimpleNamespace(flow=SimpleNamespace(name=FLOW), view=view))


def test_partitions_with_one_reason_are_one_line_and_the_summary_counts_them() -> None:
    ledger = Ledger()
    goal = OnceGoal([keeper({("t", p): 10 for p in range(5)})], ledger)
    assert not goal.reached({})
    ledger.take([Receipt(flow=FLOW, topic="t", partition=p, kind=WAITING, error="h:1 is away") for p in range(1, 5)])
    ledger.take([Receipt(flow=FLOW, topic="t", partition=0, kind=COPIED, target_end=10, records=10, bytes=2_000_000)])
    hints = {FLOW: {("t", 0): Standing(10)}}
    assert goal.missing(hints) == [
        "flow A->B: t-1 (up to offset 10), t-2 (up to offset 10), t-3 (up to offset 10) and 1 more are not copied: "
        "h:1 is away"
    ]
    assert goal.summary(hints, 7.4) == (
        "once: 10 records (2.0 MB) in 7 s; 1 of 5 partitions are copied up to where they ended at the start"
    )


def test_a_flow_that_could_not_be_looked_at_is_named() -> None:
    goal = OnceGoal([keeper(None)], Ledger())
    assert goal.missing({}) == ["flow A->B: cluster B: no broker answers"]
    assert goal.summary({}, 61.0).endswith("; nothing of A->B")
