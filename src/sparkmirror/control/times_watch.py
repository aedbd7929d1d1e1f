"""Remote topics whose brokers put their own times on records: somebody else made them, or changed them since."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sparkmirror.copy.receipt import NOTED
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import describe_topic_configs
from sparkmirror.topology.command import set_configs
from sparkmirror.topology.fact import WHOLE_TOPIC, Fact
from sparkmirror.topology.select import TopicPair
from sparkmirror.topology.topic_configs import CREATE_TIME, TIMESTAMP_TYPE, puts_own_times

TARGET_RESTAMPS = "target-restamps"
KEEPS_TIMES = {TIMESTAMP_TYPE: CREATE_TIME}
LOOK_EVERY_S = 30.0  # while there is such a topic
WELL_EVERY_S = 300.0

Place = tuple[str, int]


class TimesWatch:
    """One flow's. Blocking."""

    def __init__(self, target: Cluster) -> None:
        self._target = target
        self._looked_at = 0.0
        self._known: frozenset[str] = frozenset()
        self._restamped: frozenset[str] = frozenset()

    def look(self, pairs: Iterable[TopicPair]) -> None:
        """At new topics at once, at others if it is time to. Some may not be shown: of these nothing is said."""
        remotes = frozenset(pair.remote for pair in pairs if pair.present)
        every_s = LOOK_EVERY_S if self._restamped else WELL_EVERY_S
        now = time.monotonic()
        if not remotes or (remotes <= self._known and now - self._looked_at < every_s):
            return
        self._looked_at, self._known = now, remotes
        found = describe_topic_configs(self._target, remotes, only=TIMESTAMP_TYPE).found
        self._restamped = frozenset(remote for remote, entries in found.items() if puts_own_times(entries))

    def facts(self, pairs: Iterable[TopicPair]) -> dict[Place, Fact]:
        return {
            (pair.topic, WHOLE_TOPIC): Fact(
                kind=NOTED,
                name=TARGET_RESTAMPS,
                error=f"the target topic {pair.remote} takes no times of records: readers see when a record was "
                "copied, not its time on the source; to keep times from now on: "
                f"{set_configs(self._target.address.bootstrap, pair.remote, KEEPS_TIMES)}",
            )
            for pair in pairs
            if pair.remote in self._restamped
        }
