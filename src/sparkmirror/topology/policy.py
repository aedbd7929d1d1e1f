"""How topics are named across clusters: which names are remote, internal, heartbeats or checkpoints.

The words are those of MirrorMaker 2's ReplicationPolicy, because users write policies of their own in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sparkmirror.errors import ConfigError

HEARTBEATS = "heartbeats"
DOT = "."


class ReplicationPolicy(Protocol):
    def format_remote_topic(self, source: str, topic: str) -> str:
        """The name on the target of a topic from the cluster `source`."""
        ...

    def topic_source(self, topic: str) -> str | None:
        """The cluster that a remote topic came from; None for a local topic."""
        ...

    def upstream_topic(self, topic: str) -> str | None:
        """A remote topic's name one hop back; None for a local topic."""
        ...

    def original_topic(self, topic: str) -> str:
        """The name where the records were first written."""
        ...

    def is_heartbeats_topic(self, topic: str) -> bool: ...

    def is_checkpoints_topic(self, topic: str) -> bool: ...

    def is_internal_topic(self, topic: str) -> bool:
        """Internal topics are never mirrored."""
        ...

    def heartbeats_topic(self) -> str: ...

    def offset_syncs_topic(self, other: str) -> str:
        """`other` is the alias of the cluster that the topic does not live on."""
        ...

    def checkpoints_topic(self, source: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalNames:
    """What MirrorMaker 2's own topics are called, and how they are known again; the same for every policy."""

    separator: str = DOT
    prefix: str = "mm2"

    def offset_syncs_topic(self, other: str) -> str:
        return f"{self.prefix}-offset-syncs{self.separator}{other}{self.separator}internal"

    def checkpoints_topic(self, source: str) -> str:
        return source + self._checkpoints_suffix()

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(self._checkpoints_suffix())

    def is_internal_topic(self, topic: str) -> bool:
        # Only `mm2...internal`, as since Kafka 4.0: before, any user topic that ended so was left out. Progress,
        # status and claims have dots whatever the separator is.
        ends = (f"{self.separator}internal", ".internal")
        ours = topic.startswith(("mm2", self.prefix)) and topic.endswith(ends)
        return ours or self.is_checkpoints_topic(topic) or topic.startswith(("__", "."))

    def _checkpoints_suffix(self) -> str:
        return f"{self.separator}checkpoints{self.separator}internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultReplicationPolicy:
    """`topic` of cluster `a` becomes `a.topic`.

    Remote names are known by the file's aliases, the longest first, so that an alias may hold the separator. What
    begins with none of them is read as MirrorMaker 2 reads it, up to the first separator: a mirror of another file may
    have brought it, and a way that leads back here must be seen.
    """

    separator: str = DOT
    aliases: tuple[str, ...] = ()
    internal: InternalNames | None = None

    def __post_init__(self) -> None:
        if not self.separator:
            raise ConfigError("replication.policy.separator is empty: expected text between alias and topic")

    def format_remote_topic(self, source: str, topic: str) -> str:
        return source + self.separator + topic

    def topic_source(self, topic: str) -> str | None:
        # Java's split drops trailing empty parts: `a.` has one part and is local, `a..t` comes from a.
        whole = topic
        while whole.endswith(self.separator):
            whole = whole.removesuffix(self.separator)
        for alias in sorted(self.aliases, key=len, reverse=True):
            if whole.startswith(alias + self.separator):
                return alias
        source, separator, _ = whole.partition(self.separator)
        return source if separator else None

    def upstream_topic(self, topic: str) -> str | None:
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        return find_original(self, topic)

    def is_heartbeats_topic(self, topic: str) -> bool:
        return self.original_topic(topic) == HEARTBEATS

    def is_checkpoints_topic(self, topic: str) -> bool:
        return self._names.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        return self._names.is_internal_topic(topic)

    def heartbeats_topic(self) -> str:
        return HEARTBEATS

    def offset_syncs_topic(self, other: str) -> str:
        return self._names.offset_syncs_topic(other)

    def checkpoints_topic(self, source: str) -> str:
        return self._names.checkpoints_topic(source)

    @property
    def _names(self) -> InternalNames:
        return self.internal or InternalNames(separator=self.separator)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Topics keep their names; heartbeats alone are renamed, so that hops can be counted.

    A name does not tell where it came from, so every topic counts as one of the flow's source.
    """

    source: str | None = None

    def format_remote_topic(self, source: str, topic: str) -> str:
        if looks_like_heartbeats(topic):
            return DefaultReplicationPolicy.format_remote_topic(self, source, topic)
        return topic

    def topic_source(self, topic: str) -> str | None:
        if looks_like_heartbeats(topic):
            return DefaultReplicationPolicy.topic_source(self, topic)
        return self.source

    def upstream_topic(self, topic: str) -> str | None:
        if looks_like_heartbeats(topic):
            return DefaultReplicationPolicy.upstream_topic(self, topic)
        return topic


def looks_like_heartbeats(topic: str) -> bool:
    return topic.endswith(HEARTBEATS)


def hops_back(policy: ReplicationPolicy, topic: str) -> Iterator[tuple[str, str | None]]:
    """The way that a topic came, the last hop first: the cluster of each and the topic's name there.

    It ends with a local topic, or where a name comes up again: the Identity policy never changes it.
    """
    seen = {topic}
    while (source := policy.topic_source(topic)) is not None:
        upstream = policy.upstream_topic(topic)
        yield source, upstream
        if upstream is None or upstream in seen:
            return
        seen.add(upstream)
        topic = upstream


def find_original(policy: ReplicationPolicy, topic: str) -> str:
    """The name at the far end of the way."""
    names = [upstream for _, upstream in hops_back(policy, topic) if upstream is not None]
    return names[-1] if names else topic


def count_hops(policy: ReplicationPolicy, topics: Iterable[str], source: str) -> int:
    """How many mirrors lie between the cluster `source` and here, by the heartbeats that came; -1: none did."""
    ways = _ways_of_heartbeats(policy, topics)
    return min((way.index(source) + 1 for way in ways if source in way), default=-1)


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[str]) -> set[str]:
    """The clusters that heartbeats came from or through."""
    return {cluster for way in _ways_of_heartbeats(policy, topics) for cluster in way}


def _ways_of_heartbeats(policy: ReplicationPolicy, topics: Iterable[str]) -> Iterator[list[str]]:
    """Of each, the clusters that it passed, the last one first. As for MirrorClient, a way ends where it goes round."""
    for topic in topics:
        if policy.is_heartbeats_topic(topic):
            way: list[str] = []
            for source, _ in hops_back(policy, topic):
                if source in way:
                    break
                way.append(source)
            yield way
