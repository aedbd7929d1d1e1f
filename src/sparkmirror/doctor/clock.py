"""How far a cluster's clock is from this machine's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.control.leadership import SKEW_MARGIN_S
from sparkmirror.doctor.facts import ClusterFacts
from sparkmirror.doctor.verdict import Judge, Verdict


def judge_clock(facts: ClusterFacts) -> Iterator[Verdict]:
    judge = Judge(facts.alias, "clock")
    reading = facts.clock
    if reading is None:
        yield judge.skips(f"not checked: {facts.clock_problem}", "compare the clocks by hand, or run NTP on both")
        return
    said = f"{abs(reading.ahead_s):.1f} s {'ahead of' if reading.ahead_s > 0 else 'behind'} this machine"
    said = f"controller {reading.controller} is {said} (within {reading.within_s:.1f} s)"
    if abs(reading.ahead_s) - reading.within_s <= SKEW_MARGIN_S:
        yield judge.passes(said)
        return
    yield judge.warns(
        f"{said}: latencies are wrong by that much, and status may take a driver for dead or alive that is not",
        "run NTP on both",
    )
