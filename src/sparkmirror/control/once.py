"""`--once`: copy up to each partition's end as it was at the start, then say what is missing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from sparkmirror.control.discovery import Place
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.ledger import Ledger
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.topology.fact import WHOLE_TOPIC, Fact
from sparkmirror.topology.standing import Standing

PATIENCE_S = 60.0
SHOWN = 3  # partitions of one line

Hints = Mapping[str, Mapping[Place, Standing]]  # by flow


class OnceGoal:
    """Each flow's goal is set when its topics stand on the target. Without any headway it gives up.

    A halted flow has none, and is not waited for.
    """

    def __init__(self, keepers: Sequence[FlowKeeper], ledger: Ledger) -> None:
        self._keepers = keepers
        self._ledger = ledger
        self._goals: dict[str, dict[Place, int]] = {}
        self._headway: tuple[object, float] = (None, time.monotonic())

    def stop_at(self, keeper: FlowKeeper, hints: Hints) -> dict[Place, int]:
        """The partitions that still have to be copied, with their ends. Stopped ones are not tried again."""
        self._set_goal(keeper)
        stopped = self._ledger.stopped(keeper.flow.name)
        left = self._left(keeper, hints)
        return {place: end for place, end in left.items() if place not in stopped}

    def reached(self, hints: Hints) -> bool:
        """All is copied or stopped, or nothing has moved for long."""
        keepers = [keeper for keeper in self._keepers if keeper.view.halt is None]
        for keeper in keepers:
            self._set_goal(keeper)
        now = time.monotonic()
        state = (
            self._ledger.records,
            {flow: dict(places) for flow, places in hints.items()},
            len(self._goals),
        )
        if state != self._headway[0]:
            self._headway = (state, now)
        if now - self._headway[1] > PATIENCE_S:
            return True
        return all(
            k.flow.name in self._goals and set(self._left(k, hints)) <= self._ledger.stopped(k.flow.name)
            for k in keepers
        )

    def missing(self, hints: Hints) -> list[str]:
        """What is not whole, partitions with the same reason in one line."""
        lines = []
        for keeper in self._keepers:
            flow = keeper.flow.name
            if keeper.view.halt is not None:
                lines.append(f"flow {flow}: {halt_text(flow, keeper.view.halt)}")
                continue
            if flow not in self._goals:
                lines.append(f"flow {flow}: {keeper.view.problem or self._why_no_goal(flow)}")
                continue
            facts = self._ledger.facts(flow)
            lines += (f"flow {flow}: {line}" for line in _by_reason(self._left(keeper, hints), facts))
            unseen = ((t, f) for (t, p), f in sorted(facts.items()) if p == WHOLE_TOPIC and f.kind == STOPPED)
            lines += (f"flow {flow}: topic {topic} is not copied: {fact.said}" for topic, fact in unseen)
        return lines

    def summary(self, hints: Hints, seconds: float) -> str:
        wanted = sum(map(len, self._goals.values()))
        left = sum(len(self._left(keeper, hints)) for keeper in self._keepers)
        unread = [keeper.flow.name for keeper in self._keepers if keeper.flow.name not in self._goals]
        copied = f"{self._ledger.records:,} records ({self._ledger.bytes / 1e6:,.1f} MB) in {seconds:.0f} s"
        whole = f"{wanted - left} of {wanted} partitions are copied up to where they ended at the start"
        none = f"; nothing of {', '.join(unread)}" if unread else ""
        return f"once: {copied}; {whole}{none}"

    def _set_goal(self, keeper: FlowKeeper) -> None:
        view = keeper.view
        if keeper.flow.name in self._goals or view.landscape is None or view.ends is None:
            return
        places = {(p.topic, p.partition) for p in view.landscape.partitions}
        if view.landscape.pending == 0 and places <= set(view.ends):
            self._goals[keeper.flow.name] = {place: end.source for place, end in view.ends.items()}

    def _left(self, keeper: FlowKeeper, hints: Hints) -> dict[Place, int]:
        stands = hints.get(keeper.flow.name, {})
        goal = self._goals.get(keeper.flow.name, {})
        return {place: end for place, end in goal.items() if place not in stands or stands[place].next_offset < end}

    def _why_no_goal(self, flow: str) -> str:
        facts = sorted(self._ledger.facts(flow).items())
        stopped = (fact.said for _, fact in facts if fact.kind == STOPPED)
        return next(stopped, "its topics could not be read")


def _by_reason(left: Mapping[Place, int], facts: Mapping[Place, Fact]) -> Iterator[str]:
    """`t-0 (up to offset 9), t-1 (up to offset 7) and 4 more are not copied: why`."""
    reasons: dict[str, list[str]] = {}
    for (topic, partition), end in sorted(left.items()):
        fact = facts.get((topic, partition))
        reasons.setdefault(fact.said if fact else "", []).append(f"{topic}-{partition} (up to offset {end})")
    for reason, places in reasons.items():
        named = ", ".join(places[:SHOWN]) + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
        verb = "is" if len(places) == 1 else "are"
        yield f"{named} {verb} not copied" + (f": {reason}" if reason else "")
