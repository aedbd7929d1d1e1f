"""When a leader counts as gone, how long its leases may last, and how they are fenced. Pure.

    asks for a record   appended, heard by others                           leases are over   others may lead
    |-------------------|---------------------------------------------------|-----------------|
    |<----------------------- SILENT_LEASES ------------------------------->|
                        |<----------------------- SILENT_LEASES, SKEW_MARGIN_S -------------->|

What a driver reads may be an old log's, of a broker that is cut off from the others. A record that is acknowledged is
one that all others can read. So leases end in time after the last such record, counted from when it was asked for:
earlier than anybody else counts from. And they end `LONGEST_LEASE` after the topic was last read.
"""

from __future__ import annotations

from sparkmirror.copy.lease import FENCE_STEP, ROW_ATTEMPTS
from sparkmirror.offsets.claims import Leadership

SILENT_LEASES = 3  # a leader that says nothing for so many leases' time is taken over from
SKEW_MARGIN_S = 2.0
LONGEST_LEASE = 2  # times lease.seconds, if nobody renews it. A record is written each time, so it has one to spare
# A generation lasts about one lease's time; rounds that are planned early share it. The claim topic's offsets can grow
# to 134 million until fences are no int32 any more: 42 years of leases of ten seconds.
FENCES_A_GENERATION = 4 * FENCE_STEP


def leases_end_s(lease_s: float) -> float:
    """How long leases may last after their driver asked for its last leader record that was acknowledged."""
    return SILENT_LEASES * lease_s


def silence_limit_s(lease_s: float) -> float:
    return leases_end_s(lease_s) + SKEW_MARGIN_S


def longest_lease_s(lease_s: float) -> float:
    """How long a lease lasts after its driver last read that it leads."""
    return LONGEST_LEASE * lease_s


def term_s(unread_s: float, unsaid_s: float, lease_s: float) -> float:
    """How long a lease lasts from now on: none outlasts the word that its driver leads, whoever hangs meanwhile.

    `unread_s`: since it last asked who leads; `unsaid_s`: since it asked for its last record that was acknowledged.
    """
    return max(0.0, min(longest_lease_s(lease_s) - unread_s, leases_end_s(lease_s) - unsaid_s))


def is_running(leader: Leadership | None, lease_s: float, now_ms: float) -> bool:
    """As an outsider sees it, by the age of the leader's newest record. Both clocks should be about right."""
    if leader is None or leader.released:
        return False
    return now_ms - leader.written_ms <= silence_limit_s(lease_s) * 1000


def is_vacant(leader: Leadership | None, silent_s: float, lease_s: float) -> bool:
    """As one who stands by sees it, by how long it has heard nothing new. The leader may have longer leases."""
    if leader is None or leader.released:
        return True
    return silent_s > silence_of_s(leader, lease_s)


def silence_of_s(leader: Leadership | None, lease_s: float) -> float:
    """So long a leader must have been silent until none of its leases can still write."""
    return max(silence_limit_s(lease_s), (leader.longest_s if leader else 0.0) + SKEW_MARGIN_S)


def has_ended(leader: Leadership | None, silent_s: float, lease_s: float) -> bool:
    """As an outsider sees it who has heard nothing new for so long: no lease of whoever led can still write.

    The age of a record says nothing here: the driver's clock may be any time behind.
    """
    return (leader is not None and not leader.leaves_leases) or silent_s > silence_of_s(leader, lease_s)


def unguarded_s(earlier: Leadership | None, lease_s: float) -> float:
    """How long after its last record leases of whoever led before may still write."""
    if earlier is None or not earlier.leaves_leases:
        return 0.0
    return (earlier.longest_s or leases_end_s(lease_s)) + SKEW_MARGIN_S


def longest_left_s(earlier: Leadership | None, lease_s: float) -> float:
    """How long leases may last after a driver's first record: its own, and those of whoever led before."""
    left_s = earlier.longest_s if earlier and earlier.leaves_leases else 0.0
    return max(leases_end_s(lease_s), left_s)


def next_fence(last: int, generation: int, *, by_rows: bool = False) -> int | None:
    """Above the last one, and between those of earlier and of later generations; None: this one has no more.

    `by_rows`: for a query, with room for each attempt that Spark makes at a task of it. One takes a whole generation.
    """
    room = FENCE_STEP * (ROW_ATTEMPTS if by_rows else 1)
    fence = max(last + room, generation * FENCES_A_GENERATION)
    return fence if fence + room <= (generation + 1) * FENCES_A_GENERATION else None
