"""A connection to one cluster, to ask what mirrors brought there."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self, TypeAlias, TypeVar

from sparkmirror.client.properties import parse_address, parse_policy
from sparkmirror.errors import BrokerError, ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.deadline import deadline
from sparkmirror.net.denial import raise_refused
from sparkmirror.offsets.checkpoints import parse_record
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.protocol import codes
from sparkmirror.topology.partition import TopicPartition
from sparkmirror.topology.policy import ReplicationPolicy, count_hops, upstream_clusters
from sparkmirror.topology.right import TOPIC, Right

TIMEOUT_S = 30.0
_RETRY_S = 0.1

T = TypeVar("T")


class OffsetAndMetadata(NamedTuple):
    """What a consumer group would commit: the offset that it reads next."""

    offset: int
    metadata: str = ""


GroupOffsets: TypeAlias = dict[TopicPartition, OffsetAndMetadata]


class MirrorClient:
    """Asks one cluster; close it, or use it in a `with` statement. From any thread, one question at a time.

    `properties` are `host:port` addresses or the keys of Kafka's MirrorClientConfig: `bootstrap.servers`,
    `replication.policy.class`, `replication.policy.separator`, and so on. What passes by waiting (a leader that moves,
    a broker that restarts) is waited for; after `timeout_s` a `ConnectionLostError` says what was wrong.
    """

    def __init__(self, properties: str | Mapping[str, str], *, timeout_s: float = TIMEOUT_S) -> None:
        given = {"bootstrap.servers": properties} if isinstance(properties, str) else properties
        self._policy = parse_policy(given)
        self._cluster = Cluster(parse_address(given))
        self._timeout_s = timeout_s
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._cluster.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        return self._policy

    def replication_hops(self, upstream: str) -> int:
        """How many mirrors lie between the cluster `upstream` and this one at least; -1: none leads from there."""
        return count_hops(self._policy, self._topics(), upstream)

    def heartbeat_topics(self) -> set[str]:
        return {topic for topic in self._topics() if self._policy.is_heartbeats_topic(topic)}

    def checkpoint_topics(self) -> set[str]:
        return {topic for topic in self._topics() if self._policy.is_checkpoints_topic(topic)}

    def upstream_clusters(self) -> set[str]:
        """The aliases of the clusters that heartbeats came from, over any number of hops."""
        return upstream_clusters(self._policy, self._topics())

    def remote_topics(self, source: str | None = None) -> set[str]:
        """The topics that came from other clusters, or directly from `source`; internal ones are left out."""
        topics = {topic for topic in self._topics() if not self._policy.is_internal_topic(topic)}
        sources = {topic: self._policy.topic_source(topic) for topic in topics}
        return {topic for topic, found in sources.items() if found is not None and source in (None, found)}

    def remote_consumer_offsets(self, group: str, cluster: str, timeout_s: float = TIMEOUT_S) -> GroupOffsets:
        """Where a group of the cluster `cluster` goes on here, by the checkpoints of the mirror from there.

        Empty for a group without checkpoints, and where there is no checkpoints topic.
        """
        return self._offsets(cluster, lambda name: name == group, timeout_s).get(group, {})

    def remote_consumer_offsets_matching(
        self, pattern: re.Pattern[str] | str, cluster: str, timeout_s: float = TIMEOUT_S
    ) -> dict[str, GroupOffsets]:
        """The same of all groups whose whole name matches, in one pass."""
        compiled = re.compile(pattern)
        return self._offsets(cluster, lambda name: compiled.fullmatch(name) is not None, timeout_s)

    def _topics(self) -> list[str]:
        """All but Kafka's own."""
        found = self._ask(lambda cluster: cluster.fetch_metadata(), self._timeout_s)
        return [info.name for info in found.topics.values() if not info.internal]

    def _offsets(self, source: str, is_wanted: Callable[[str], bool], timeout_s: float) -> dict[str, GroupOffsets]:
        topic = self._policy.checkpoints_topic(source)
        return self._ask(lambda cluster: _fetch_offsets(cluster, topic, is_wanted), timeout_s)

    def _ask(self, question: Callable[[Cluster], T], timeout_s: float) -> T:
        """What passes by waiting is asked again until the time is up."""
        with self._lock, deadline(timeout_s, "timeout_s"):
            until = time.monotonic() + timeout_s
            while True:
                try:
                    return question(self._cluster)
                except (ConnectionLostError, BrokerError) as error:
                    is_passing = isinstance(error, ConnectionLostError) or error.code in codes.PASSING
                    if not is_passing or time.monotonic() + _RETRY_S > until:
                        raise
                time.sleep(_RETRY_S)  # brokers come back and leaders move without telling


def _fetch_offsets(cluster: Cluster, topic: str, is_wanted: Callable[[str], bool]) -> dict[str, GroupOffsets]:
    """The last checkpoint of each partition counts. Records that are none are passed over."""
    info = cluster.fetch_metadata([topic]).topics.get(topic)
    if info is None or info.error == codes.UNKNOWN_TOPIC_OR_PARTITION:
        return {}
    raise_refused(cluster.address, f"{topic} can't be read", info.error, Right("READ", TOPIC, topic))
    found: dict[str, GroupOffsets] = {}
    for record in InternalTopic(cluster, topic, partitions=1, replication_factor=-1).read(partitions=[0]):
        checkpoint = parse_record(record.key, record.value)
        if checkpoint is not None and is_wanted(checkpoint.group):
            place = TopicPartition(checkpoint.topic, checkpoint.partition)
            position = OffsetAndMetadata(checkpoint.downstream_offset, checkpoint.metadata)
            found.setdefault(checkpoint.group, {})[place] = position
    return found
