"""Whether the ends of logs are what they were, asked so cheaply that it can be asked every two seconds.

The question is encoded once and the answer compared as bytes, so a thousand partitions cost no more than sending and
receiving 40 KB. Of more it is asked less often, for the brokers' sake. What has moved, who is told that something has
asks himself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from sparkmirror.net.cluster import Cluster, Leader, group_by
from sparkmirror.protocol import list_offsets as protocol

LOG_S = 0.002  # between two questions for each log: a broker takes about 17 us to tell the end of one
THROTTLE_BYTES = 4  # the answer begins with how long the broker would like us to wait

Place = tuple[str, int]


class EndsWatch:
    """One cluster's. Blocking."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._leaders: Mapping[Place, Leader] = {}
        self._questions: dict[int, bytes] = {}  # by broker
        self._answers: dict[int, bytes] = {}
        self._ask_at = 0.0

    def look_at(self, leaders: Mapping[Place, Leader]) -> None:
        """From now on. Of others than before the next answer is one that has moved."""
        if leaders == self._leaders:
            return
        self._leaders = leaders
        led = [place for place, leader in leaders.items() if leader.node >= 0]
        self._questions = {
            node: protocol.encode_list_offsets({place: leaders[place].epoch for place in places}, protocol.LATEST)
            for node, places in group_by(led, lambda place: leaders[place].node).items()
        }
        self._answers = {}

    def have_moved(self) -> bool:
        """Since it was last asked, as far as brokers show it."""
        if time.monotonic() < self._ask_at:
            return False
        self._ask_at = time.monotonic() + LOG_S * len(self._leaders)
        before, self._answers = self._answers, {node: self._ask(node, body) for node, body in self._questions.items()}
        return before != self._answers

    def _ask(self, node: int, body: bytes) -> bytes:
        _, frame = self._cluster.call_raw(node, protocol.API_KEY, (protocol.VERSION,), lambda _: [body])
        return bytes(frame[THROTTLE_BYTES:])
