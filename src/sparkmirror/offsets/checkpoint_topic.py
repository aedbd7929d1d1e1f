"""A flow's checkpoints, `<source>.checkpoints.internal` on the target: the last of each group and partition.

There may be very many. They are kept as the bytes that they are, and looked into when somebody asks for a group. What
the topic has removed by age (`checkpoints.topic.retention.ms`) is forgotten here, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.checkpoints import Checkpoint, encode_key, encode_value, is_value, parse_record
from sparkmirror.offsets.internal_topic import Cursors, InternalTopic

_LENGTH = 2  # bytes of a group's length, before it

Place = tuple[str, int]


class _Kept(NamedTuple):
    value: bytes
    written_ms: int
    offset: int


class CheckpointTopic:
    """Blocking; one user at a time. The topic is made elsewhere, with the flow's settings."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._topic = InternalTopic(cluster, name, partitions=1, replication_factor=-1)
        self._seen = Cursors()
        self._last: dict[bytes, dict[bytes, _Kept]] = {}  # by group, and by key
        self._begin = 0

    def read_on(self) -> None:
        """Take in what was written since the last time; all, if the topic was made anew."""
        is_same, records = self._topic.read_news(self._seen, [0])
        if not is_same:
            self._last.clear()
        for record in records:
            self._seen.next[record.partition] = record.offset + 1
            key, value = record.key, record.value
            if key and value and is_value(value):
                group = key[_LENGTH : _LENGTH + int.from_bytes(key[:_LENGTH])]
                self._last.setdefault(group, {})[key] = _Kept(value, record.timestamp_ms, record.offset)
        self._forget(self._seen.begin[0])

    def _forget(self, begin: int) -> None:
        """What stood before where the log begins by now."""
        if begin > self._begin:
            held = (
                (group, {key: each for key, each in kept.items() if each.offset >= begin})
                for group, kept in self._last.items()
            )
            self._last = {group: kept for group, kept in held if kept}
        self._begin = begin

    def last(self, group: str) -> dict[Place, Checkpoint]:
        kept = self._last.get(group.encode(), {})
        found = ((parse_record(key, each.value), each.written_ms) for key, each in kept.items())
        return {(each.topic, each.partition): each._replace(written_ms=at) for each, at in found if each is not None}

    def groups(self) -> list[str]:
        return sorted(group.decode(errors="replace") for group in self._last)

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
