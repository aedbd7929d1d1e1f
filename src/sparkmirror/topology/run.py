"""Runs: stretches of a partition in which target minus source offset is constant. Pure.

    source   100 101 102 | 103 104 | 105 106            103, 104 hold no record to copy
    target    40  41  42           |  43  44            runs: (100, 40, 3) (105, 43, 2)

A run that goes on where the last one ended, on both sides, is the same run. Between two runs the source has holes, or
the target has what others wrote, or both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Stretch = tuple[int, int]  # offsets without a hole: the first and how many
GONE = -(1 << 62)  # as the first offset: where these stood is not known any more


class Run(NamedTuple):
    """Source offsets from `source` on stand in the target from `target` on, `length` of them."""

    source: int
    target: int
    length: int

    @property
    def source_end(self) -> int:
        return self.source + self.length

    @property
    def target_end(self) -> int:
        return self.target + self.length

    def goes_on_with(self, other: Run) -> bool:
        return (self.source_end, self.target_end) == (other.source, other.target)


def pair_up(source: Sequence[Stretch], target: Sequence[Stretch]) -> list[Run]:
    """The runs of two logs that hold the same records in the same order, up to the end of the shorter one.

    What is GONE from the target has no run.
    """
    runs: list[Run] = []
    here, there = list(reversed(source)), list(reversed(target))
    while here and there:
        (first, left), (stands, room) = here.pop(), there.pop()
        count = min(left, room)
        run = Run(first, stands, count)
        if stands < 0:
            pass
        elif runs and runs[-1].goes_on_with(run):
            runs[-1] = runs[-1]._replace(length=runs[-1].length + count)
        else:
            runs.append(run)
        if left > count:
            here.append((first + count, left - count))
        if room > count:
            there.append((stands + count, room - count))
    return runs
