"""Holes that come faster than they can be filled. Pure: it is told what receipts say, and when they came.

    source   | copied | holes and records, ever more of them      |
    target   | copied |       <- holds its place with a marker for each hole

A hole is a barrier for its partition. Where filling takes much of a partition's time and the lag grows all the same,
equal offsets cost more than the mirror has: somebody should know, and may want to translate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkmirror.control.discovery import Place
from sparkmirror.control.lag import Ends
from sparkmirror.control.topic_facts import HOLES_OUTRUN
from sparkmirror.copy.receipt import NOTED
from sparkmirror.topology.fact import Fact

SHORTEST_S = 3.0
MUCH = 1 / 3  # of the time


@dataclass(frozen=True, slots=True)
class Filling:
    """Sums of all receipts so far, and when the last one came."""

    holes: int = 0
    fill_ms: int = 0
    at: float = 0.0

    def plus(self, holes: int, fill_ms: int, now: float) -> Filling:
        return Filling(self.holes + holes, self.fill_ms + fill_ms, now)


@dataclass(frozen=True, slots=True)
class _Mark:
    filling: Filling
    lag: int


class HoleWatch:
    """One flow's partitions, by one look after the other."""

    def __init__(self) -> None:
        self._marks: dict[Place, _Mark] = {}
        self._facts: dict[Place, Fact] = {}

    def look(self, ends: Mapping[Place, Ends], filled: Mapping[Place, Filling]) -> dict[Place, Fact]:
        """The facts that hold now. What could not be asked has nothing new."""
        for place in filled.keys() & ends.keys():
            self._follow(place, ends[place], filled[place])
        return dict(self._facts)

    def _follow(self, place: Place, end: Ends, now: Filling) -> None:
        before = self._marks.setdefault(place, _Mark(now, end.lag))
        seconds = now.at - before.filling.at
        if end.lag == 0:
            self._facts.pop(place, None)
        if seconds < SHORTEST_S:
            return
        self._marks[place] = _Mark(now, end.lag)
        holes = now.holes - before.filling.holes
        busy = (now.fill_ms - before.filling.fill_ms) / 1000 / seconds >= MUCH
        is_behind = end.lag > holes  # by more than was filled in all that time
        if busy and is_behind and end.lag > before.lag:
            self._facts[place] = holes_outrun(end, holes / seconds, before.lag, seconds)
        elif not (busy and is_behind):
            self._facts.pop(place, None)


def holes_outrun(end: Ends, a_second: float, lag_before: int, seconds: float) -> Fact:
    return Fact(
        kind=NOTED,
        name=HOLES_OUTRUN,
        error=f"holes come faster than they are filled ({a_second:.0f} a second): source offsets {end.target}.."
        f"{end.source - 1} are still to come, and {lag_before} were {seconds:.0f} s before; it goes on, or set "
        "offsets.preserve to never and mirror the topic anew",
    )
