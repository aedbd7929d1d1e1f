"""When a leader counts as gone, and how long its leases may last. Pure."""

from __future__ import annotations

from sparkmirror.offsets.claims import Leadership

SILENT_ROUNDS = 3  # a leader that misses so many rounds is taken over from
SKEW_MARGIN_S = 2.0
CALM_LEASE_S = 60.0  # a round while nothing happens
LONGEST_LEASE = 2  # times lease.seconds, if no successor comes


def silence_limit_s(lease_s: float) -> float:
    return SILENT_ROUNDS * lease_s + SKEW_MARGIN_S


def longest_lease_s(lease_s: float, *, calm: bool) -> float:
    """A lease lasts longer than its round only if no successor comes."""
    return LONGEST_LEASE * lease_s + (CALM_LEASE_S if calm else 0.0)


def is_running(leader: Leadership | None, lease_s: float, now_ms: float) -> bool:
    """As an outsider sees it, by the age of the leader's newest record. Both clocks should be about right."""
    if leader is None or leader.released:
        return False
    return now_ms - leader.written_ms <= silence_limit_s(lease_s) * 1000
