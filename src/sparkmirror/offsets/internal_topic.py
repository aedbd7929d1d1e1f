"""A compacted internal topic: made if it is not there, appended to and read to its end, a few records at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka.partitioner.default import murmur2

from sparkmirror.batch.header import read_header
from sparkmirror.batch.records import encode_keyed_batches, read_keyed_records
from sparkmirror.errors import BrokerError, ConnectionLostError
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.denial import raise_hidden
from sparkmirror.net.internal_topics import complete_configs, create_internal_topic
from sparkmirror.net.log import append_batch, format_topic_id, read_logs
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import TopicShape
from sparkmirror.protocol import codes
from sparkmirror.topology.internal_topics import COMPACTED, SPARE

SETTLE_S = 10.0
BATCH_BYTES = 512 << 10
# What reading somebody's JSON can end in: not JSON, other types, other fields, 1e999 for a number, [[[[...
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


class InternalRecord(NamedTuple):
    """`timestamp_ms`: when it was written, by its writer's clock."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


@dataclass(slots=True)
class Cursors:
    """How far a topic was read, by partition, and which topic of its name that was. `begin`: where its logs begin."""

    topic_id: str = ""
    next: dict[int, int] = field(default_factory=dict)
    begin: dict[int, int] = field(default_factory=dict)

    def are_of(self, topic_id: str, ends: Mapping[int, int]) -> bool:
        """Whether they may be of a topic with this id and these ends; an older broker does not say its id."""
        is_other = bool(self.topic_id and topic_id) and topic_id != self.topic_id
        return not is_other and all(self.next.get(partition, 0) <= end for partition, end in ends.items())


class InternalTopic:
    """Blocking; one user at a time."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        *,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._cluster = cluster
        self._shape = TopicShape(name, partitions, replication_factor, configs or COMPACTED, SPARE)
        self._info: TopicInfo | None = None
        self.known_id = ""  # of the topic that was last ensured, or that its user has read

    def ensure(self) -> None:
        """Create the topic or give it what it lacks, and wait until its leaders know that they lead."""
        if self._lookup() is None:
            create_internal_topic(self._cluster, self._shape)
        else:
            complete_configs(self._cluster, self.name, self._shape.configs, keeps_all=True)
        deadline = time.monotonic() + SETTLE_S
        while self._lookup() is None:
            if time.monotonic() > deadline:
                raise ConnectionLostError(f"{self._cluster.address.alias}: {self.name} has no leader")
            time.sleep(0.05)  # a new topic's leader is known by asking again, there is no event
        self.known_id = format_topic_id(self._bounds()[0].topic_id)

    def is_gone(self) -> bool:
        """Not only without a leader: the brokers know no topic of this name."""
        info = self._cluster.fetch_metadata([self.name]).topics.get(self.name)
        return info is None or info.error == codes.UNKNOWN_TOPIC_OR_PARTITION

    def remake_if_lost(self) -> bool:
        """Whether the topic is not the known one, so that nothing of that stands in it. Made, if nobody has."""
        before = self.known_id
        if self.is_gone():
            self.ensure()
            return True
        found = self.fetch_id()
        is_another = bool(before and found) and found != before
        if is_another:  # somebody else made it, maybe as any other topic
            self.ensure()
        self.known_id = found
        return is_another

    def is_there(self) -> bool:
        return self._info is not None or self._lookup() is not None

    def fetch_id(self) -> str:
        """Empty where brokers give topics none."""
        return format_topic_id(self._get(fresh=True).topic_id)

    def append(self, partition: int, records: Sequence[tuple[bytes, bytes | None]]) -> int:
        """Append records to one partition; the last one's offset."""
        last = -1
        for batch in encode_keyed_batches(records, int(time.time() * 1000), BATCH_BYTES):
            first = self._append(lambda info, b=batch: append_batch(self._cluster, info, partition, b))  # type: ignore[misc]
            last = first + read_header(memoryview(batch)).last_delta
        return last

    def append_keyed(self, records: Mapping[bytes, bytes | None]) -> None:
        """Append records where Kafka's Java producer would put their keys."""
        by_partition: dict[int, list[tuple[bytes, bytes | None]]] = {}
        for key, value in records.items():
            by_partition.setdefault(self.partition_of(key), []).append((key, value))
        for partition, group in by_partition.items():
            self.append(partition, group)

    def partition_of(self, key: bytes) -> int:
        return int(murmur2(key) & 0x7FFFFFFF) % len(self._get().leaders)

    def read(self, partitions: Collection[int] | None = None) -> Iterator[InternalRecord]:
        """All records up to the ends as they are now."""
        yield from self._read(*self._bounds(partitions))

    def read_news(
        self, seen: Cursors, partitions: Collection[int] | None = None
    ) -> tuple[bool, Iterator[InternalRecord]]:
        """What was written since, and whether the topic is the one that was read; if not, `seen` begins anew."""
        info, bounds = self._bounds(partitions)
        topic_id = format_topic_id(info.topic_id)
        is_same = seen.are_of(topic_id, {p: end for p, (_, end) in bounds.items()})
        if not is_same:
            seen.next.clear()
        seen.topic_id = topic_id or seen.topic_id
        seen.begin |= {p: begin for p, (begin, _) in bounds.items()}
        spans = {p: (max(begin, seen.next.get(p, 0)), end) for p, (begin, end) in bounds.items()}
        return is_same, self._read(info, spans)

    def read_last(self, partition: int, count: int) -> Iterator[InternalRecord]:
        """What stands at the last `count` offsets of one partition."""
        info, bounds = self._bounds()
        begin, end = bounds[partition]
        yield from self._read(info, {partition: (max(begin, end - count), end)})

    def read_on(self, partition: int, first: int) -> tuple[str, int, int, Iterator[InternalRecord]]:
        """The topic's id, where the partition begins and ends, and what stands in it from `first` on."""
        info, bounds = self._bounds()
        begin, end = bounds[partition]
        records = self._read(info, {partition: (max(begin, first), end)})
        return format_topic_id(info.topic_id), begin, end, records

    def read_range(self, partition: int, first: int, end: int) -> Iterator[InternalRecord]:
        """Records of one partition that stand in `first..end` still."""
        yield from self._read(self._get(), {partition: (first, end)})

    def _bounds(self, partitions: Collection[int] | None = None) -> tuple[TopicInfo, dict[int, tuple[int, int]]]:
        """First and end offset of each partition. A leader that was just elected may need some tries."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            info = self._get(fresh=True)
            wanted = info.leaders if partitions is None else partitions
            leaders = {(self.name, p): info.leaders[p] for p in wanted}
            ends = list_offsets(self._cluster, leaders, LATEST)
            begins = list_offsets(self._cluster, leaders, EARLIEST)
            if len(begins) == len(ends) == len(leaders):
                return info, {p: (begins[self.name, p], ends[self.name, p]) for p in wanted}
            if time.monotonic() > deadline:
                raise ConnectionLostError(f"{self._cluster.address.alias}: {self.name} can't be read at the moment")
            time.sleep(0.05)  # leaders say "not yet" and can only be asked again

    def _read(self, info: TopicInfo, spans: Mapping[int, tuple[int, int]]) -> Iterator[InternalRecord]:
        """A partition's records in order; those of several in any."""
        for partition, header, batch in read_logs(self._cluster, info, spans):
            if header.is_control:
                continue
            first, end = spans[partition]
            for offset, timestamp_ms, key, value in read_keyed_records(header, batch):
                if first <= offset < end:
                    yield InternalRecord(partition, offset, key, value, timestamp_ms)

    def _append(self, work: Callable[[TopicInfo], int]) -> int:
        """Once more with fresh metadata if the leader moved."""
        try:
            return work(self._get(needs="WRITE"))
        except (BrokerError, ConnectionLostError) as error:
            if isinstance(error, BrokerError) and error.code not in codes.PASSING:
                raise
            return work(self._get(fresh=True, needs="WRITE"))

    def _get(self, *, fresh: bool = False, needs: str = "READ") -> TopicInfo:
        if fresh:
            self._lookup(needs)
        if self._info is None and self._lookup(needs) is None:
            raise ConnectionLostError(f"{self._cluster.address.alias}: {self.name} is not there or has no leader")
        assert self._info is not None
        return self._info

    def _lookup(self, needs: str = "READ") -> TopicInfo | None:
        """`needs`: what who looks wants to do there."""
        info = self._cluster.fetch_metadata([self.name]).topics.get(self.name)
        if info:
            raise_hidden(self._cluster.address, self.name, info.error, needs)
        settled = info and not info.error and info.leaders and all(x.node >= 0 for x in info.leaders.values())
        self._info = info if settled else None
        return self._info


def newest(records: Iterable[InternalRecord]) -> Iterable[InternalRecord]:
    """The last record of each key in its partition, as compaction would leave them; by partition in order."""
    found: dict[tuple[int, bytes | None], InternalRecord] = {}
    for record in records:
        place = record.partition, record.key
        found.pop(place, None)
        found[place] = record
    return found.values()


def parse_object(data: bytes | None) -> dict[str, Any]:
    """A JSON object; what is not ours counts as empty."""
    try:
        value = json.loads(data or b"{}")
    except UNREADABLE:
        return {}
    return value if isinstance(value, dict) else {}
