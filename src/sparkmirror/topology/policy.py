"""How topics are named across clusters: which names are remote, internal, heartbeats or checkpoints.

The words are those of MirrorMaker 2's ReplicationPolicy, because users write policies of their own in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sparkmirror.errors import ConfigError

HEARTBEATS = "heartbeats"


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


@dataclass(frozen=True, slots=True)
class DefaultReplicationPolicy:
    """`topic` of cluster `a` becomes `a.topic`."""

    separator: str = "."

    def __post_init__(self) -> None:
        if not self.separator:
            raise ConfigError("replication.policy.separator is empty: expected text between alias and topic")

    def format_remote_topic(self, source: str, topic: str) -> str:
        return source + self.separator + topic

    def topic_source(self, topic: str) -> str | None:
        # Java's split drops trailing empty parts: `a.` has one part and is local, `a..t` comes from a.
        parts = topic.split(self.separator)
        while parts and not parts[-1]:
            parts.pop()
        return parts[0] if len(parts) > 1 else None

    def upstream_topic(self, topic: str) -> str | None:
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        upstream = self.upstream_topic(topic)
        while upstream is not None and upstream != topic:
            topic, upstream = upstream, self.upstream_topic(upstream)
        return topic

    def is_heartbeats_topic(self, topic: str) -> bool:
        return self.original_topic(topic) == HEARTBEATS

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(self._checkpoints_suffix())

    def is_internal_topic(self, topic: str) -> bool:
        # Only `mm2...internal`, as since Kafka 4.0: before, any user topic that ended so was left out.
        ours = topic.startswith("mm2") and topic.endswith(self._internal_suffix())
        return ours or self.is_checkpoints_topic(topic) or topic.startswith(("__", "."))

    def heartbeats_topic(self) -> str:
        return HEARTBEATS

    def offset_syncs_topic(self, other: str) -> str:
        return f"mm2-offset-syncs{self.separator}{other}{self._internal_suffix()}"

    def checkpoints_topic(self, source: str) -> str:
        return source + self._checkpoints_suffix()

    def _internal_suffix(self) -> str:
        return self.separator + "internal"

    def _checkpoints_suffix(self) -> str:
        return f"{self.separator}checkpoints{self._internal_suffix()}"
