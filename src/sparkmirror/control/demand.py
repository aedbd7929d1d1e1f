"""How many leases a flow's traffic asks for: one as long as its task has time left. Pure.

    load of a task   the share of a core that it takes, or 1 where its source holds more than it can fetch at once

    their mean is above GROW_AT                          twice as many, at once
    fewer would do, each at less than GROW_AT / 2,       as many as would do
    and so it was for CALM_S

`tasks.max` is the most. Each lease more costs wake-ups for the same records, and each change a handover. A flow is
pressed while the load of any task is above GROW_AT: then it matters how partitions are shared out, so rounds are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

GROW_AT = 0.5
CALM_S = 30.0


def is_pressed(told: Sequence[float | None]) -> bool:
    return any(load is not None and load > GROW_AT for load in told)


def share_slots(wanted: Sequence[int], slots: int) -> list[int]:
    """Among flows that want so many at most: one at least, and what one does not want is left to the others."""
    shares, left = [0] * len(wanted), slots
    for done, index in enumerate(sorted(range(len(wanted)), key=lambda index: wanted[index])):
        shares[index] = max(1, min(wanted[index], left // (len(wanted) - done)))
        left -= shares[index]
    return shares


class Demand:
    """Of one flow. It is told the time."""

    def __init__(self) -> None:
        self.leases = 1
        self._fewer: tuple[float, int] | None = None  # since when fewer would do, and how many at most

    def note(self, told: Sequence[float | None], most: int, now: float) -> None:
        """`told`: by the tasks of a round; nothing is known before all of them have."""
        loads = [load for load in told if load is not None]
        if not loads or len(loads) < len(told):
            return
        if sum(loads) / len(loads) > GROW_AT:
            self.leases, self._fewer = max(self.leases, min(most, 2 * len(loads))), None
            return
        enough = max(1, math.ceil(2 * sum(loads) / GROW_AT))
        if enough >= self.leases:
            self._fewer = None
            return
        since, high = self._fewer or (now, 0)
        self._fewer = since, max(high, enough)
        if now - since >= CALM_S:
            self.leases, self._fewer = max(high, enough), None
