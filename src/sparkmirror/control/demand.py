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


class Demand:
    """Of one flow. It is told the time."""

    def __init__(self) -> None:
        self.leases = 1
        self._high = (0.0, 0)  # since when fewer would do, and how many at most

    def note(self, told: Sequence[float | None], most: int, now: float) -> None:
        """`told`: by the tasks of a round; nothing is known before all of them have."""
        loads = [load for load in told if load is not None]
        if not loads or len(loads) < len(told):
            return
        if sum(loads) / len(loads) > GROW_AT:
            self.leases, self._high = max(self.leases, min(most, 2 * len(loads))), (now, 0)
            return
        enough = max(1, math.ceil(2 * sum(loads) / GROW_AT))
        since, high = self._high
        if enough >= self.leases:
            self._high = (now, 0)
        elif now - since >= CALM_S:
            self.leases, self._high = max(high, enough), (now, 0)
        else:
            self._high = (since, max(high, enough))
