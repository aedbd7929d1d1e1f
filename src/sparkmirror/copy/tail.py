"""Reads the end of a target partition, and what the source has at that place.

target log   ... | our data | markers |            <- log end
source log   ... | the same | holes   | next ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparkmirror.batch import scan
from sparkmirror.batch.header import BatchHeader, read_header
from sparkmirror.batch.records import PlainRecord, read_records
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.log import fetch_partition, raise_unread, read_log
from sparkmirror.protocol import codes
from sparkmirror.topology.run import Stretch

WINDOWS = (1, 1_000, 30_000, 1_000_000)


class Batch(NamedTuple):
    header: BatchHeader
    data: memoryview

    @property
    def by_time(self) -> bool:
        """Whether its records' times can be compared: a broker may have put its own in their place."""
        return not self.header.is_log_append_time

    @property
    def records(self) -> list[PlainRecord]:
        return read_records(self.header, self.data)

    @property
    def stretches(self) -> list[Stretch]:
        """Where its records stand."""
        if self.header.records == self.header.end - self.header.first:
            return [(self.header.first, self.header.records)]
        return [(record.offset, 1) for record in self.records]


def content_of(record: PlainRecord, by_time: bool) -> tuple[int, bytes]:
    """All that makes a record the same as another one."""
    return record.timestamp if by_time else 0, record.content


def data_batches(cluster: Cluster, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
    """Batches with records that begin in `first..end`, whoever wrote them."""
    for header, data in read_log(cluster, topic, partition, first, end):
        if not header.is_control and header.records and first <= header.first < end:
            yield Batch(header, data)


def all_batches(cluster: Cluster, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
    """All that end behind `first`, with markers and those among them that compaction has emptied."""
    for header, data in read_log(cluster, topic, partition, first, end):
        if first < header.end and header.first < end:
            yield Batch(header, data)


def is_without_gap(cluster: Cluster, topic: TopicInfo, partition: int, first: int, end: int) -> bool:
    """Whether compaction has removed nothing in `first..end`."""
    for header, _ in read_log(cluster, topic, partition, first, end):
        if header.first > first:
            return False
        first = header.end
    return first >= end


class Tail(NamedTuple):
    """The end of a log: the last batch, and the last one that holds records.

    The cleaner keeps a producer's last batch when it has removed all its records, so that its sequence stays known.
    """

    last: BatchHeader
    data: Batch | None


def read_tail(
    cluster: Cluster, topic: TopicInfo, partition: int, log_start: int, log_end: int, producer_id: int | None = None
) -> Tail | None:
    """None if there are only markers, or nothing. Windows grow towards the start. `producer_id`: of its batches."""
    last: BatchHeader | None = None
    begins = [max(log_start, log_end - window) for window in WINDOWS] + [log_start]
    for until, begin in pairwise([log_end, *begins]):
        found: BatchHeader | None = None
        data: Batch | None = None
        for header, batch in read_log(cluster, topic, partition, begin, until):
            if not header.is_control and producer_id in (None, header.producer_id):
                found = header
                data = Batch(header, batch) if header.records else data
        last = last or found
        if last and (data or begin == log_start):
            return Tail(last, data)
    return None


def copyable_batches(
    cluster: Cluster,
    topic: TopicInfo,
    partition: int,
    first: int,
    end: int,
    isolation: int,
    skip_producers: Sequence[int] = (),
) -> Iterator[Batch]:
    """The source's batches that hold records to copy in `first..end`; ends early where old formats begin."""
    while first < end:
        fetched = fetch_partition(cluster, topic, partition, first, isolation=isolation)
        if fetched.error == codes.OFFSET_OUT_OF_RANGE:
            return
        raise_unread(cluster, topic, partition, fetched.error)
        data = np.frombuffer(fetched.records, np.uint8)
        found = scan.scan_batches(
            data,
            first,
            high_watermark=fetched.high_watermark,
            aborted=fetched.aborted,
            skip_producers=skip_producers,
        )
        for row in found.rows.tolist():
            if row[scan.KIND] in (scan.PASS, scan.REWRITE) and row[scan.FIRST] < end:
                batch = fetched.records[row[scan.START] : row[scan.AFTER]]
                yield Batch(read_header(batch), batch)
        if found.end == first:
            return
        first = found.end
