"""When a leader counts as gone, how long its leases may last, and how they are fenced. Pure."""

from __future__ import annotations

from sparkmirror.copy.lease import FENCE_STEP
from sparkmirror.offsets.claims import Leadership

SILENT_LEASES = 3  # a leader that says nothing for so many leases' time is taken over from
SKEW_MARGIN_S = 2.0
LONGEST_LEASE = 2  # times lease.seconds, if nobody renews it
# A generation lasts about one lease's time; rounds that are planned early share it. The claim topic's offsets can grow
# to 134 million until fences are no int32 any more: 42 years of leases of ten seconds.
FENCES_A_GENERATION = 4 * FENCE_STEP


def silence_limit_s(lease_s: float) -> float:
    return SILENT_LEASES * lease_s + SKEW_MARGIN_S


def longest_lease_s(lease_s: float) -> float:
    """How long a lease lasts after its driver last read that it leads."""
    return LONGEST_LEASE * lease_s


def term_s(unconfirmed_s: float, lease_s: float) -> float:
    """How long a lease lasts from now on: none outlasts the word that its driver leads, whoever hangs meanwhile."""
    return max(0.0, longest_lease_s(lease_s) - unconfirmed_s)


def is_running(leader: Leadership | None, lease_s: float, now_ms: float) -> bool:
    """As an outsider sees it, by the age of the leader's newest record. Both clocks should be about right."""
    if leader is None or leader.released:
        return False
    return now_ms - leader.written_ms <= silence_limit_s(lease_s) * 1000


def is_vacant(leader: Leadership | None, silent_s: float, lease_s: float) -> bool:
    """As one who stands by sees it, by how long it has heard nothing new."""
    return leader is None or leader.released or silent_s > silence_limit_s(lease_s)


def unguarded_s(earlier: Leadership | None, lease_s: float) -> float:
    """How long leases of whoever led before may still write."""
    if earlier is None or not earlier.leaves_leases:
        return 0.0
    return (earlier.longest_s or longest_lease_s(lease_s)) + SKEW_MARGIN_S


def next_fence(last: int, generation: int) -> int | None:
    """Above the last one, and between those of earlier and of later generations; None: this one has no more."""
    fence = max(last + FENCE_STEP, generation * FENCES_A_GENERATION)
    return fence if fence < (generation + 1) * FENCES_A_GENERATION else None
