"""A flow's checkpoints, `<source>.checkpoints.internal` on the target: the last of each group and partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.checkpoints import Checkpoint, encode_key, encode_value, parse_record
from sparkmirror.offsets.internal_topic import InternalTopic

Place = tuple[str, int]


class CheckpointTopic:
    """Blocking; one user at a time. The topic is made elsewhere, with the flow's settings."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._topic = InternalTopic(cluster, name, partitions=1, replication_factor=-1)
        self._next: dict[int, int] = {}
        self._last: dict[str, dict[Place, Checkpoint]] = {}

    def read_on(self) -> None:
        """Take in what was written since the last time."""
        for record in self._topic.read(self._next, [0]):
            self._next[record.partition] = record.offset + 1
            found = parse_record(record.key, record.value)
            if found is not None:
                found = found._replace(written_ms=record.timestamp_ms)
                self._last.setdefault(found.group, {})[found.topic, found.partition] = found

    def last(self, group: str) -> Mapping[Place, Checkpoint]:
        return self._last.get(group, {})

    def groups(self) -> list[str]:
        return sorted(self._last)

    def write(self, checkpoints: Iterable[Checkpoint]) -> None:
        records = [
            (
                encode_key(c.group, c.topic, c.partition),
                encode_value(c.upstream_offset, c.downstream_offset, c.metadata),
            )
            for c in checkpoints
        ]
        if records:
            self._topic.append(0, records)
