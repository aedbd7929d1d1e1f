"""Progress in Kafka Connect's own words: `mm2-offsets.<source>.internal` on the target.

    key    ["MirrorSourceConnector",{"cluster":"a","partition":0,"topic":"t"}]
    value  {"offset":42}                         <- the last source offset that was replicated

The bytes matter: Connect finds a key by its raw bytes, so the field order and the missing spaces are its own, and the
partition is the Java producer's (murmur2). So a MirrorMaker 2 can go on where we stopped. In a connector's own file the
first part is the connector's name. Fields of ours stand beside `offset`, which Connect passes over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import UNREADABLE, Cursors, InternalTopic, newest
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import CONNECTOR, Storage


def encode_key(cluster: str, topic: str, partition: int, connector: str = CONNECTOR) -> bytes:
    where = {"cluster": cluster, "partition": partition, "topic": topic}
    return json.dumps([connector, where], separators=(",", ":"), ensure_ascii=False).encode()


def encode_value(standing: Standing) -> bytes:
    """Where nothing but the next offset is known, to the byte what Connect writes."""
    value: dict[str, int | str] = {"offset": standing.next_offset - 1}
    if standing != Standing(standing.next_offset):
        value |= {
            "sequence": standing.last_sequence,
            "target_end": standing.target_end,
            "source_epoch": standing.source_epoch,
            "log_start": standing.log_start,
            "translated": standing.translated,
            "equal_end": standing.equal_end,
            "source_topic_id": standing.source_id,
            "target_topic_id": standing.target_id,
        }
    if standing.searched_end >= 0:
        value |= {
            "searched_end": standing.searched_end,
            "searched_gap": standing.searched_gap,
            "searched_epoch": standing.searched_epoch,
        }
    if standing.query:
        value |= {"batch": standing.batch, "batch_first": standing.batch_first, "query": standing.query}
    return json.dumps(value, separators=(",", ":")).encode()


def parse_record(
    key: bytes | None, value: bytes | None, cluster: str, connector: str = CONNECTOR
) -> tuple[tuple[str, int], Standing | None] | None:
    """(topic, partition) and where it stands; None for other connectors' records and what can't be read."""
    try:
        owner, where = json.loads(key or b"null")
        if owner != connector or where["cluster"] != cluster:
            return None
        place = (str(where["topic"]), int(where["partition"]))
        if value is None:
            return place, None
        fields = json.loads(value)
        standing = Standing(
            int(fields["offset"]) + 1,
            int(fields.get("sequence", -1)),
            int(fields.get("target_end", -1)),
            int(fields.get("source_epoch", -1)),
            int(fields.get("log_start", 0)),
            str(fields.get("translated", "")),
            str(fields.get("source_topic_id", "")),
            str(fields.get("target_topic_id", "")),
            int(fields.get("batch", -1)),
            int(fields.get("batch_first", -1)),
            str(fields.get("query", "")),
            int(fields.get("equal_end", 0)),
            int(fields.get("searched_end", -1)),
            int(fields.get("searched_gap", 0)),
            int(fields.get("searched_epoch", -1)),
        )
    except UNREADABLE:
        return None
    return place, standing


class ProgressTopic:
    """One flow's records in the progress topic."""

    def __init__(self, cluster: Cluster, storage: Storage, replication_factor: int = -1) -> None:
        self._storage = storage
        self._seen = Cursors()
        self._found: dict[tuple[str, int], Standing] = {}
        self._topic = InternalTopic(
            cluster,
            storage.progress,
            partitions=storage.progress_partitions,
            replication_factor=replication_factor,
        )

    def ensure(self) -> None:
        self._topic.ensure()

    def is_there(self) -> bool:
        return self._topic.is_there()

    def has_ours(self) -> bool:
        """Whether a mirror of ours has written here, at any time; a MirrorMaker 2 says less."""
        return any(known.last_sequence >= 0 or known.target_id for known in self.read().values())

    def remake_if_lost(self) -> bool:
        return self._topic.remake_if_lost()

    def read(self) -> dict[tuple[str, int], Standing]:
        """The newest progress of each partition."""
        self._seen.next.clear()
        self._found.clear()
        found = self.read_on()
        self._topic.known_id = self._seen.topic_id
        return found

    def read_on(self) -> dict[tuple[str, int], Standing]:
        """The same, but only what was written since the last time is read."""
        self._read_on(None)
        return dict(self._found)

    def read_place(self, place: tuple[str, int]) -> Standing | None:
        """The newest progress of one partition; reads only what was written since the last time."""
        self._read_on([self._topic.partition_of(self._key(place))])
        return self._found.get(place)

    def _read_on(self, partitions: Collection[int] | None) -> None:
        is_same, records = self._topic.read_news(self._seen, partitions)
        if not is_same:
            self._found.clear()
        for record in newest(records):
            self._seen.next[record.partition] = record.offset + 1
            parsed = parse_record(record.key, record.value, self._storage.source, self._storage.connector)
            if parsed and parsed[1] is not None:
                self._found[parsed[0]] = parsed[1]
            elif parsed:
                self._found.pop(parsed[0], None)

    def write(self, progress: Mapping[tuple[str, int], Standing | None]) -> None:
        """`None` forgets a partition: it begins anew."""
        records = {self._key(place): p and encode_value(p) for place, p in progress.items()}
        self._topic.append_keyed(records)

    def _key(self, place: tuple[str, int]) -> bytes:
        return encode_key(self._storage.source, *place, self._storage.connector)
