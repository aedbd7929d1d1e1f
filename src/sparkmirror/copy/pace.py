"""How long a broker may keep a fetch, and for how many bytes. Pure.

    nothing arrives           50 ms, 100 ms, ... 2 s: whoever joins meanwhile waits for the answer
    now and then a record     the same, and the broker answers with the first byte
    something every 5 ms      5 ms, or 1 MB if that is there earlier
    much                      10 ms, or 1 MB

A fetch for each producer's batch would cost more than the copy. A single record is never waited with.
"""

from __future__ import annotations

from sparkmirror.copy.lease import Bounds

MUCH_BYTES = 64 << 10
GATHER_BYTES = 1 << 20
GATHER_MS = 10
QUICK_MS = 5
FIRST_WAIT_MS = 50
LONGEST_WAIT_MS = 2000
GATHERING_WAIT_MS = 500  # Kafka's own default, where the user wants a fetch to wait for some bytes


class Pace:
    """Of one broker."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._longest_ms = LONGEST_WAIT_MS if bounds.fetch_wait_ms is None else bounds.fetch_wait_ms
        self._wait_ms = FIRST_WAIT_MS
        self._is_much = False
        self._is_quick = False

    def note(self, size: int, *, has_records: bool, took_s: float) -> None:
        """An answer, and how long it took. Who gathers goes on with it until nothing comes."""
        self._is_much = size >= MUCH_BYTES
        self._is_quick = has_records and (self._is_quick or took_s < QUICK_MS / 1000)

    def plan(self, *, is_other: bool) -> tuple[int, int]:
        """For the next fetch. `is_other`: not of the same partitions as before."""
        if is_other or self._is_much:
            self._wait_ms = FIRST_WAIT_MS
        wait_ms = min(self._wait_ms, self._longest_ms)
        self._wait_ms = min(2 * self._wait_ms, self._longest_ms)
        wanted = self._bounds.fetch_min_bytes
        if wanted is not None and wanted > 1:
            return GATHERING_WAIT_MS if self._bounds.fetch_wait_ms is None else self._bounds.fetch_wait_ms, wanted
        if self._is_much:
            return min(GATHER_MS, wait_ms), GATHER_BYTES
        if self._is_quick:
            return min(QUICK_MS, wait_ms), GATHER_BYTES
        return wait_ms, 1
