"""Source logs in plain Python: batches of every kind, and which records of them are to be copied."""

from __future__ import annotations

import random
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from awscrt.checksums import crc32c

from sparkmirror.batch.codec import compress
from tests.support.codecs import COMPRESSED
from tests.support.records import Record, encode_section, encode_varint

TRANSACTIONAL, CONTROL, LOG_APPEND_TIME, DELETE_HORIZON = 0x10, 0x20, 0x08, 0x40
ABORT, COMMIT = 0, 1
START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch:
    """A batch as a broker holds it: `records` may have been thinned out by compaction."""

    first: int
    last_delta: int
    records: tuple[Record, ...] = ()
    codec: int = 0
    producer_id: int = -1
    is_transactional: bool = False
    marker: int | None = None
    append_time: int | None = None
    delete_horizon: int | None = None

    @property
    def end(self) -> int:
        return self.first + self.last_delta + 1

    def encode(self) -> bytes:
        attributes = self.codec | (TRANSACTIONAL if self.is_transactional else 0)
        timestamps = [r.timestamp for r in self.records] or [0]
        base, latest = timestamps[0], max(timestamps)
        count = len(self.records)
        if self.delete_horizon is not None:
            attributes |= DELETE_HORIZON
            base = self.delete_horizon
        if self.append_time is not None:
            attributes |= LOG_APPEND_TIME
            latest = self.append_time
        section = encode_section(self.records, self.first, base)
        if self.marker is not None:
            attributes |= CONTROL
            key = struct.pack(">hh", 0, self.marker)
            body = b"\0\0\0" + encode_varint(len(key)) + key + encode_varint(6) + bytes(6) + b"\0"
            section, count = encode_varint(len(body)) + body, 1
        section = compress(self.codec, section)
        fields = (attributes, self.last_delta, base, latest, self.producer_id, 0, 0, count)
        summed = struct.pack(">hiqqqhii", *fields) + section
        return struct.pack(">qiibI", self.first, 9 + len(summed), 3, 2, crc32c(summed)) + summed


def aborted_transactions(log: Sequence[SourceBatch], position: int) -> tuple[tuple[int, int], ...]:
    """(producer id, first offset) of those that end at `position` or later, as a broker tells a consumer."""
    found, began = [], dict[int, int]()
    for batch in log:
        if batch.is_transactional and batch.marker is None:
            began.setdefault(batch.producer_id, batch.first)
        elif batch.marker is not None:
            first = began.pop(batch.producer_id, None)
            if batch.marker == ABORT and first is not None and batch.first >= position:
                found.append((batch.producer_id, first))
    return tuple(found)


def copyable(log: Sequence[SourceBatch], *, committed: bool, skipped: Collection[int] = ()) -> list[Record]:
    """The records that a consumer would get, with the timestamps that it would see, but those of some producers."""
    aborted = _aborted_batches(log) if committed else set()
    return [
        record if batch.append_time is None else record._replace(timestamp=batch.append_time)
        for index, batch in enumerate(log)
        if batch.marker is None and index not in aborted and batch.producer_id not in skipped
        for record in batch.records
    ]


def _aborted_batches(log: Sequence[SourceBatch]) -> set[int]:
    aborted: set[int] = set()
    open_: dict[int, list[int]] = {}
    for index, batch in enumerate(log):
        if batch.marker is not None:
            indexes = open_.pop(batch.producer_id, [])
            aborted.update(indexes if batch.marker == ABORT else ())
        elif batch.is_transactional:
            open_.setdefault(batch.producer_id, []).append(index)
    return aborted


def make_log(seed: int) -> list[SourceBatch]:
    """Data of several producers, open and ended transactions, compacted and emptied batches, missing offsets."""
    dice = random.Random(seed)
    offset = dice.choice([0, 17, 2**40])
    log: list[SourceBatch] = []
    in_transaction: set[int] = set()
    for _ in range(dice.randint(0, 25)):
        if dice.random() < 0.2:
            offset += dice.randint(1, 30)
        producer = dice.randint(1, 3)
        if producer in in_transaction and dice.random() < 0.4:
            in_transaction.discard(producer)
            marker = dice.choice([ABORT, COMMIT])
            batch = SourceBatch(first=offset, last_delta=0, producer_id=producer, is_transactional=True, marker=marker)
        else:
            batch = _data(dice, offset, producer)
            if batch.is_transactional:
                in_transaction.add(producer)
        log.append(batch)
        offset = batch.end
    # A fetch of committed data ends before the first transaction that is still open.
    first_open = [i for i, b in enumerate(log) if b.producer_id in in_transaction and _is_open(log, i)]
    return log[: min(first_open, default=len(log))]


def _is_open(log: list[SourceBatch], index: int) -> bool:
    batch = log[index]
    later = log[index + 1 :]
    return batch.is_transactional and not any(
        b.marker is not None and b.producer_id == batch.producer_id for b in later
    )


def _data(dice: random.Random, offset: int, producer: int) -> SourceBatch:
    width = dice.choice([1, 2, 10, 40])
    kept = [delta for delta in range(width) if dice.random() < dice.choice([1, 1, 0.5, 0])]
    size = dice.choice([0, 5, 200, 2000])
    records = tuple(
        Record(
            offset + delta,
            START_MS + dice.choice([0, 1, -5000, 10**9, -START_MS - 1]),
            dice.choice([None, b"", b"key"]),
            dice.choice([None, dice.randbytes(size)]),
            dice.choice([(), ((b"h", None), (b"", b"v"))]),
        )
        for delta in kept
    )
    return SourceBatch(
        first=offset,
        last_delta=width - 1,
        records=records,
        codec=dice.choice([0, 0, 0, *COMPRESSED]),
        producer_id=producer,
        is_transactional=dice.random() < 0.4,
        append_time=dice.choice([None, None, None, START_MS + 77]),
        delete_horizon=dice.choice([None, None, START_MS + 5]),
    )
