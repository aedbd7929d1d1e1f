"""Groups partitions into leases: even in weight, and each with partitions of many source leaders.

A lease that reads from one broker only waits for that broker alone; two leases that share the leaders share
the wait. Weight comes first all the same: the heaviest lease sets the pace of the flow.

Heaviest partition first, each goes to
1. an empty lease, while there is one (so no task is idle);
2. else, of the leases within SLACK of the lightest, the one with the fewest partitions of its leader.

A lease is within SLACK of the lightest, and so of the mean, before its last partition. Hence
    heaviest lease <= (1 + SLACK) * mean + heaviest partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

# Share of the mean weight that may be given up for a better spread over leaders.
SLACK = 0.1

_NO_LEADER = -1


class Partition(Hashable, Protocol):
    """Anything hashable that sorts."""

    def __lt__(self, other: Any, /) -> bool: ...


P = TypeVar("P", bound=Partition)


@dataclass(slots=True)
class _Lease(Generic[P]):
    partitions: list[P] = field(default_factory=list)
    weight: float = 0.0
    by_leader: Counter[int] = field(default_factory=Counter)

    def take(self, partition: P, weight: float, leader: int) -> None:
        self.partitions.append(partition)
        self.weight += weight
        self.by_leader[leader] += 1


def plan_leases(
    partitions: Sequence[P],
    tasks: int,
    leaders: Mapping[P, int],
    weights: Mapping[P, float],
) -> list[list[P]]:
    """min(tasks, partitions) sorted groups that hold each partition once; the same for the same input.

    `weights` are bytes a second as last seen; an idle or unknown partition counts 1, so that a thousand idle
    ones are spread too. A partition without a leader counts as one more leader's.
    """
    if tasks < 1:
        raise ValueError(f"tasks must be at least 1, got {tasks}")
    weight = {partition: max(1.0, weights.get(partition, 1.0)) for partition in partitions}
    if not weight:
        return []
    leases: list[_Lease[P]] = [_Lease() for _ in range(min(tasks, len(weight)))]
    slack = SLACK * sum(weight.values()) / len(leases)
    # Two stable sorts: by partition, then by falling weight.
    for partition in sorted(sorted(weight), key=lambda each: -weight[each]):
        leader = leaders.get(partition, _NO_LEADER)
        _choose(leases, leader, slack).take(partition, weight[partition], leader)
    return [sorted(lease.partitions) for lease in leases]


def _choose(leases: Sequence[_Lease[P]], leader: int, slack: float) -> _Lease[P]:
    for lease in leases:
        if not lease.partitions:
            return lease
    limit = min(lease.weight for lease in leases) + slack
    fitting = (lease for lease in leases if lease.weight <= limit)
    return min(fitting, key=lambda lease: (lease.by_leader[leader], lease.weight, len(lease.partitions)))
