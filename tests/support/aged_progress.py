"""A progress topic as a busy mirror leaves it: a record of each partition every few seconds, for a long time."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterator

from sparkmirror.batch.records import encode_keyed_batches
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import append_batch
from sparkmirror.offsets.internal_topic import BATCH_BYTES, InternalTopic
from sparkmirror.offsets.progress import encode_key, encode_value
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage


class BusyProgress:
    """Of one topic with so many partitions. Rounds are gathered into large batches, so that years pass in seconds."""

    def __init__(self, cluster: Cluster, storage: Storage, topic: str, partitions: int) -> None:
        self.written = 0
        self._cluster = cluster
        self._storage = storage
        self._topic = topic
        self._internal = InternalTopic(
            cluster, storage.progress, partitions=storage.progress_partitions, replication_factor=-1
        )
        list(self._internal.read())  # waits for the leaders of a new topic
        self._ids = str(uuid.uuid4()), str(uuid.uuid4())
        self._by_partition: dict[int, list[int]] = {}
        for number in range(partitions):
            self._by_partition.setdefault(self._internal.partition_of(self._key(number)), []).append(number)

    def write(self, records: int, last_offset: int) -> None:
        """About so many records, of which the newest of each partition says `last_offset`."""
        info = self._cluster.fetch_metadata([self._storage.progress]).topics[self._storage.progress]
        share = records // sum(map(len, self._by_partition.values()))
        for partition, numbers in self._by_partition.items():
            batch, count = self._batch(numbers, last_offset)
            times = max(1, share * len(numbers) // count)
            for _ in range(times):
                append_batch(self._cluster, info, partition, batch)
            self.written += times * count

    def _batch(self, numbers: list[int], last_offset: int) -> tuple[bytes, int]:
        """A full batch of rounds that end with `last_offset`, and how many records that is."""
        standing = Standing(0, 1, 2, 3, 0, "", *self._ids)
        one = sum(len(key) + len(value or b"") + 20 for key, value in self._round(numbers, standing, last_offset))
        rounds = max(1, BATCH_BYTES // one - 1)
        records = itertools.chain.from_iterable(
            self._round(numbers, standing, last_offset - rounds + 1 + number) for number in range(rounds)
        )
        (batch,) = encode_keyed_batches(records, int(time.time() * 1000), 2 * BATCH_BYTES)
        return batch, rounds * len(numbers)

    def _round(self, numbers: list[int], standing: Standing, offset: int) -> Iterator[tuple[bytes, bytes | None]]:
        for number in numbers:
            yield self._key(number), encode_value(standing._replace(next_offset=offset + 1, target_end=offset + 1))

    def _key(self, number: int) -> bytes:
        return encode_key(self._storage.source, self._topic, number, self._storage.connector)
