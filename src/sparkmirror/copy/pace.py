"""How long a broker may keep a fetch, and for how many bytes. Pure.

    nothing arrives           50 ms, 100 ms, ... 2 s: whoever joins meanwhile waits for the answer
    now and then a record     the same, and the broker answers with the first byte
    something every 5 ms      5 ms, or 1 MB if that is there earlier
    64 KB an answer           10 ms, or 1 MB
    512 KB an answer          20 ms, or 4 MB

A fetch for each producer's batch would cost more than the copy. A single record is never waited with.
"""

from __future__ import annotations

from sparkmirror.copy.lease import Bounds

MUCH_BYTES, GATHER_MS, GATHER_BYTES = 64 << 10, 10, 1 << 20
FLOOD_BYTES, FLOOD_MS, FLOOD_GATHER_BYTES = 512 << 10, 20, 4 << 20
QUICK_MS = 5
FULL_SHARE = 0.75  # of what a broker may send at once: who sends that has more
FIRST_WAIT_MS = 50
LONGEST_WAIT_MS = 2000
GATHERING_WAIT_MS = 500  # Kafka's own default, where the user wants a fetch to wait for some bytes


class Pace:
    """Of one broker."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._longest_ms = LONGEST_WAIT_MS if bounds.fetch_wait_ms is None else bounds.fetch_wait_ms
        self._most_bytes = bounds.partition_bytes or FLOOD_GATHER_BYTES  # more may never come from a single partition
        self._wait_ms = FIRST_WAIT_MS
        self._size = 0  # of the last answer
        self._is_quick = False

    def note(self, size: int, *, has_records: bool, took_s: float) -> None:
        """An answer, and how long it took. Who gathers goes on with it until nothing comes."""
        self._size = size
        self._is_quick = has_records and (self._is_quick or took_s < QUICK_MS / 1000)

    def plan(self, *, is_other: bool) -> tuple[int, int]:
        """For the next fetch. `is_other`: not of the same partitions as before."""
        if is_other or self._size >= MUCH_BYTES:
            self._wait_ms = FIRST_WAIT_MS
        wait_ms = min(self._wait_ms, self._longest_ms)
        self._wait_ms = min(2 * self._wait_ms, self._longest_ms)
        wanted = self._bounds.fetch_min_bytes
        if wanted is not None and wanted > 1:
            return GATHERING_WAIT_MS if self._bounds.fetch_wait_ms is None else self._bounds.fetch_wait_ms, wanted
        if self._size >= FLOOD_BYTES:
            gather_ms, gather_bytes = FLOOD_MS, FLOOD_GATHER_BYTES
        elif self._size >= MUCH_BYTES:
            gather_ms, gather_bytes = GATHER_MS, GATHER_BYTES
        elif self._is_quick:
            gather_ms, gather_bytes = QUICK_MS, GATHER_BYTES
        else:
            return wait_ms, 1
        return min(gather_ms, wait_ms), min(gather_bytes, self._most_bytes)
