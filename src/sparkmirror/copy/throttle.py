"""A ceiling on bytes a second: a bucket that fills with time and may be overdrawn by one fetch, a small one."""

from __future__ import annotations

BURST_S = 0.25
LEAST_BYTES = 64 << 10
NO_CEILING = 1 << 30


class Throttle:
    """`None` a second: no ceiling."""

    def __init__(self, bytes_per_second: float | None, now: float) -> None:
        self._rate = bytes_per_second
        self._left = 0.0
        self._at = now

    @property
    def most_bytes(self) -> int:
        """How much one fetch may ask for."""
        return max(LEAST_BYTES, int(self._rate * BURST_S)) if self._rate else NO_CEILING

    def take(self, size: int) -> None:
        self._left -= size

    def wait_s(self, now: float) -> float:
        """How long nothing may be fetched; 0 if something may be now."""
        if not self._rate:
            return 0.0
        self._left = min(self._left + (now - self._at) * self._rate, self._rate * BURST_S)
        self._at = now
        return max(0.0, -self._left / self._rate)
