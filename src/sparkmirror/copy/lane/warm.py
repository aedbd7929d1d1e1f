"""Compiles a lane's kernels, or loads them from the cache: seconds that must not fall into a copy.

As a program it compiles those of a comparison, too, which a mirror does not load.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch import warm
from sparkmirror.copy.lane import carry, gather, ride, table


def warm_up() -> None:
    """A lane whose time is over does nothing, with all that it would need."""
    warm.warm_up()
    keys = table.make_keys(["t"], [(0, 0)])
    none, head = np.zeros((1, 1, 1), np.int64), np.zeros(1, np.uint8)
    setting = ride.Setting(False, 0, (False, False), (0, 0), (keys, keys), (head, head), 0, 0, 0, 0)
    state = ride.State(
        table=np.zeros((1, table.COLUMNS), np.int64),
        sources=np.zeros((1, ride.SOURCE_COLUMNS), np.int64),
        targets=np.zeros((1, ride.TARGET_COLUMNS), np.int64),
        gathering=np.zeros((1, gather.COLUMNS), np.int64),
        flights=none,
        batches=np.zeros((1, 1, 1, 1), np.int64),
        arrived=np.zeros((1, 1), np.uint8),
        answers=np.zeros((1, 1), np.uint8),
        files=np.zeros((2, 2), np.int32),
        unsent=np.zeros((1, 3), np.int64),
        scratch=np.zeros(ride.SCRATCH, np.int64),
    )
    ride.ride(0, setting, state, carry.make_desk(1, 1, 0, b"", 0, 0))


if __name__ == "__main__":
    warm_up()
    warm.warm_up_comparison()
