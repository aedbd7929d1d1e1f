"""A ceiling on bytes a second: a bucket that fills with time and may be overdrawn by one fetch."""

from __future__ import annotations

BURST_S = 0.25


class Throttle:
    """`None` a second: no ceiling."""

    def __init__(self, bytes_per_second: float | None, now: float) -> None:
        self._rate = bytes_per_second
        self._left = 0.0
        self._at = now

    def take(self, size: int) -> None:
        self._left -= size

    def wait_s(self, now: float) -> float:
        """How long nothing may be fetched; 0 if something may be now."""
        if not self._rate:
            return 0.0
        self._left = min(self._left + (now - self._at) * self._rate, self._rate * BURST_S)
        self._at = now
        return max(0.0, -self._left / self._rate)
