"""When a broker that could not be reached is tried again, and how long a try may take. Pure: it is told the time."""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.net.client import Client
from sparkmirror.net.security import Security

LONGEST_SETUP_S = 30.0
# Brokers log each try, and whoever corrects a password or a certificate waits for the next one.
FIRST_REFUSED_S, LONGEST_REFUSED_S = 1.0, 4.0

Place = tuple[str, int]


def grow(first_s: float, most_s: float, failures: int) -> float:
    """Twice as long after each failure, as Kafka's clients do."""
    return min(most_s, first_s * 2.0 ** min(failures, 64))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The two sides did not trust each other, so often in a row."""

    times: int
    until: float
    said: str


# One memory a process: who is refused is refused whoever asks, and each lease has clusters of its own.
_refusals: dict[tuple[Place, Security], Refusal] = {}


class Attempts:
    """One cluster's. Safe from several threads, as far as it must be."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._failed: dict[Place, tuple[int, float]] = {}  # how often in a row, and when last

    def pause_s(self, place: Place, now: float) -> float:
        """How long this broker is still to be left alone."""
        failures, failed_at = self._failed.get(place, (0, now))
        first_s = self._client.reconnect_s
        if not failures or first_s is None:
            return 0.0
        most_s = self._client.reconnect_max_s
        return max(0.0, failed_at + grow(first_s, first_s if most_s is None else most_s, failures - 1) - now)

    def setup_timeout_s(self, place: Place, default_s: float) -> float:
        client = self._client
        if client.setup_timeout_s is None and client.setup_timeout_max_s is None:
            return default_s
        first_s = default_s if client.setup_timeout_s is None else client.setup_timeout_s
        most_s = max(first_s, LONGEST_SETUP_S) if client.setup_timeout_max_s is None else client.setup_timeout_max_s
        return grow(first_s, most_s, self._failed.get(place, (0, 0.0))[0])

    def note_failure(self, place: Place, now: float) -> None:
        self._failed[place] = (self._failed.get(place, (0, 0.0))[0] + 1, now)

    def note_refusal(self, place: Place, now: float, said: str) -> None:
        before = _refusals.get((place, self._client.security))
        times = before.times + 1 if before else 1
        pause_s = grow(FIRST_REFUSED_S, LONGEST_REFUSED_S, times - 1)
        _refusals[place, self._client.security] = Refusal(times, now + pause_s, said)

    def why_refused(self, place: Place, now: float) -> str:
        """What was said when this broker was last tried, while it is too early to try again; else nothing."""
        refusal = _refusals.get((place, self._client.security))
        return refusal.said if refusal and now < refusal.until else ""

    def note_connected(self, place: Place) -> None:
        """It can be reached. A listener with SASL takes everybody's connection, and refuses his first request."""
        self._failed.pop(place, None)

    def note_success(self, place: Place) -> None:
        self.note_connected(place)
        _refusals.pop((place, self._client.security), None)
