"""Which replica a partition is read from (KIP-392): its leader, or a follower that the leader names as nearer.

    leader    <-- fetch with our rack --  "read from 3"
    follower  <-- fetch ----------------  batches, up to the high watermark as it knows it
    leader    <-- fetch without rack ---  batches: for a while, after a follower could not serve us

Only leaders know whether an offset is there, so whatever a follower refuses is asked of the leader again. The rack
belongs to a whole request. Without it a leader serves all that it is asked for, and a follower that died is not named
again before the cluster has noticed.
"""

from __future__ import annotations

from sparkmirror.copy.cursor import Cursor
from sparkmirror.protocol.fetch import FetchedPartition

AVOID_S = 5.0


class Followers:
    """Pure: it is told the time."""

    def __init__(self, rack: str) -> None:
        self._rack = rack
        self._avoid_until = 0.0

    def rack(self, now: float) -> str:
        """What a fetch says of where we are."""
        return self._rack if now >= self._avoid_until else ""

    def avoid(self, now: float) -> None:
        """A broker could not be read from: leaders shall serve us for a while."""
        self._avoid_until = now + AVOID_S

    def next_node(self, cursor: Cursor, fetched: FetchedPartition, now: float) -> int:
        """Who is to be asked after this answer."""
        if cursor.is_at_follower and (fetched.error or fetched.is_diverging):
            self.avoid(now)
            return cursor.source_node
        if fetched.preferred_replica >= 0 and not fetched.error:
            return fetched.preferred_replica
        return cursor.read_node
