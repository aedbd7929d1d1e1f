"""Progress in Kafka Connect's own words: `mm2-offsets.<source>.internal` on the target.

    key    ["MirrorSourceConnector",{"cluster":"a","partition":0,"topic":"t"}]
    value  {"offset":42}                         <- the last source offset that was replicated

The bytes matter: Connect finds a key by its raw bytes, so the field order and the missing spaces are its own, and the
partition is the Java producer's (murmur2). So a MirrorMaker 2 can go on where we stopped. Fields of ours stand
beside `offset`, which Connect passes over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import InternalTopic

CONNECTOR = "MirrorSourceConnector"
PARTITIONS = 25


class Progress(NamedTuple):
    """Where a partition stood. What Connect does not write is -1 or empty in its records."""

    next_offset: int
    last_sequence: int
    target_end: int
    source_topic_id: str = ""
    target_topic_id: str = ""


def progress_topic(source_alias: str) -> str:
    return f"mm2-offsets.{source_alias}.internal"


def encode_key(cluster: str, topic: str, partition: int) -> bytes:
    where = {"cluster": cluster, "partition": partition, "topic": topic}
    return json.dumps([CONNECTOR, where], separators=(",", ":"), ensure_ascii=False).encode()


def encode_value(progress: Progress) -> bytes:
    value = {
        "offset": progress.next_offset - 1,
        "sequence": progress.last_sequence,
        "target_end": progress.target_end,
        "source_topic_id": progress.source_topic_id,
        "target_topic_id": progress.target_topic_id,
    }
    return json.dumps(value, separators=(",", ":")).encode()


def parse_record(
    key: bytes | None, value: bytes | None, cluster: str
) -> tuple[tuple[str, int], Progress | None] | None:
    """(topic, partition) and progress; None for other connectors' records and what can't be read."""
    try:
        connector, where = json.loads(key or b"null")
        if connector != CONNECTOR or where["cluster"] != cluster:
            return None
        place = (str(where["topic"]), int(where["partition"]))
        if value is None:
            return place, None
        fields = json.loads(value)
        progress = Progress(
            int(fields["offset"]) + 1,
            int(fields.get("sequence", -1)),
            int(fields.get("target_end", -1)),
            str(fields.get("source_topic_id", "")),
            str(fields.get("target_topic_id", "")),
        )
    except (ValueError, TypeError, KeyError):
        return None
    return place, progress


class ProgressTopic:
    """One flow's records in the progress topic."""

    def __init__(self, cluster: Cluster, source_alias: str, replication_factor: int) -> None:
        self._alias = source_alias
        self._topic = InternalTopic(
            cluster,
            progress_topic(source_alias),
            partitions=PARTITIONS,
            replication_factor=replication_factor,
        )

    def ensure(self) -> None:
        self._topic.ensure()

    def read(self) -> dict[tuple[str, int], Progress]:
        """The newest progress of each partition."""
        found: dict[tuple[str, int], Progress] = {}
        for record in self._topic.read():
            parsed = parse_record(record.key, record.value, self._alias)
            if parsed and parsed[1] is not None:
                found[parsed[0]] = parsed[1]
            elif parsed:
                found.pop(parsed[0], None)
        return found

    def write(self, progress: Mapping[tuple[str, int], Progress]) -> None:
        records = {encode_key(self._alias, *place): encode_value(p) for place, p in progress.items()}
        self._topic.append_keyed(records)
