"""Rebuilds batches for the target: from rows of a scan to runs with a header, ready to be appended."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from awscrt.checksums import crc32c

from sparkmirror.batch import rewrite, scan
from sparkmirror.batch.codec import MAX_OUTPUT_BYTES, compress, decompress
from sparkmirror.batch.damage import refuse_damaged
from sparkmirror.batch.header import CRC_FROM, HEADER_BYTES, LENGTH_FROM, MAGIC
from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.batch.legacy import LegacyRecord, walk_legacy_records
from sparkmirror.batch.rewrite import Run
from sparkmirror.protocol.wire import encode_varint

NO_LEADER_EPOCH = -1
_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
# What several batches may grow to that are decompressed together. One alone may grow to more.
MOST_TOGETHER_BYTES = 32 << 20
_MOST_AROUND_LEGACY = 32  # lengths, attributes, both deltas, no headers

# base offset, length, leader epoch, magic, CRC, then from the attributes on: see `batch.header`
_FRONT = struct.Struct(">qiibI")
_BACK = struct.Struct(">hiqqqhii")


def rebuild(
    data: Bytes, rows: scan.Table, *, keep_first: int, keep_end: int, limit: int, max_bytes: int = MAX_OUTPUT_BYTES
) -> tuple[list[tuple[Run, int]], int]:
    """The records of some batches of one codec, as runs; each with the codec that its bytes have.

    `max_bytes`: what one of them may grow to. Also what they have grown to.
    """
    refuse_damaged(data, rows)
    codec = int(rows[0, scan.ATTRIBUTES]) & _CODEC
    sections = np.empty((len(rows), rewrite.SECTION_COLUMNS), np.int64)
    describe_sections(rows, sections)
    if codec:
        data = decompress_sections(codec, data, sections, max_bytes)
    runs = rewrite.rewrite_records(data, sections, keep_first=keep_first, keep_end=keep_end, limit=limit)
    if not codec:
        return [(run, 0) for run in runs], 0
    return [(_compressed(codec, run), codec) for run in runs], len(data)


def rebuild_legacy(
    messages: memoryview,
    *,
    after: int = -1,
    keep_first: int,
    keep_end: int | None,
    limit: int,
    max_bytes: int = MAX_OUTPUT_BYTES,
) -> list[tuple[Run, int]]:
    """Messages of formats 0 and 1 as runs of format 2, uncompressed.

    `after`: the offset before the first. `max_bytes`: what all of them may grow to.
    """
    stop = keep_end if keep_end is not None else 1 << 62
    runs: list[tuple[Run, int]] = []
    run: list[LegacyRecord] = []
    size = HEADER_BYTES
    for record in walk_legacy_records(messages, after=after, max_bytes=max_bytes):
        if not keep_first <= record.offset < stop:
            continue
        takes = _MOST_AROUND_LEGACY + len(record.key or b"") + len(record.value or b"")
        if run and (record.offset != run[-1].offset + 1 or size + takes > limit):
            runs.append((_encode_run(run), 0))
            run, size = [], HEADER_BYTES
        run.append(record)
        size += takes
    if run:
        runs.append((_encode_run(run), 0))
    return runs


def seal(run: Run, codec: int, producer_id: int, epoch: int, sequence: int) -> memoryview:
    """Write the header in front of a run's records: now it is a batch that a producer could have made."""
    batch = run.batch
    _BACK.pack_into(
        batch,
        CRC_FROM,
        codec,
        run.records - 1,
        run.base_timestamp,
        run.max_timestamp,
        producer_id,
        epoch,
        sequence,
        run.records,
    )
    _FRONT.pack_into(batch, 0, 0, len(batch) - LENGTH_FROM, NO_LEADER_EPOCH, MAGIC, crc32c(batch[CRC_FROM:]))
    return batch


@kernel
def describe_sections(rows: scan.Table, sections: rewrite.Table) -> None:
    """Where the records of each row are, as `rewrite` wants to know it. A kernel: numpy's calls cost more than it."""
    for i in range(len(rows)):
        row, section = rows[i], sections[i]
        section[rewrite.SECTION_START] = row[scan.START] + HEADER_BYTES
        section[rewrite.SECTION_END] = row[scan.AFTER]
        section[rewrite.FIRST] = row[scan.FIRST]
        section[rewrite.LAST_DELTA] = row[scan.END] - row[scan.FIRST] - 1
        section[rewrite.COUNT] = row[scan.COUNT]
        section[rewrite.BASE_TIMESTAMP] = row[scan.BASE_TIMESTAMP]
        is_fixed = row[scan.ATTRIBUTES] & _LOG_APPEND_TIME
        section[rewrite.FIXED_TIMESTAMP] = row[scan.MAX_TIMESTAMP] if is_fixed else rewrite.NOT_FIXED


def decompress_sections(codec: int, data: Bytes, sections: rewrite.Table, max_bytes: int = MAX_OUTPUT_BYTES) -> Bytes:
    """The plain records of all sections one after the other; the table is told where they are now."""
    view = data.data
    left = max_bytes if len(sections) == 1 else min(max_bytes, MOST_TOGETHER_BYTES)
    plain = []
    for start, end in sections[:, :2].tolist():
        plain.append(decompress(codec, view[start:end], max_bytes=left))
        left -= len(plain[-1])
    ends = np.cumsum([len(piece) for piece in plain])
    sections[:, rewrite.SECTION_END] = ends
    sections[1:, rewrite.SECTION_START] = ends[:-1]
    sections[0, rewrite.SECTION_START] = 0
    return np.frombuffer(plain[0] if len(plain) == 1 else b"".join(plain), np.uint8)


def _compressed(codec: int, run: Run) -> Run:
    packed = compress(codec, run.batch[HEADER_BYTES:])
    batch = bytearray(HEADER_BYTES + len(packed))
    batch[HEADER_BYTES:] = packed
    return run._replace(batch=memoryview(batch))


def _encode_run(records: Sequence[LegacyRecord]) -> Run:
    """Plain Python: old formats are rare, and gone from brokers since 4.0."""
    base = records[0].timestamp
    out = bytearray(HEADER_BYTES)
    for delta, record in enumerate(records):
        body = bytearray(b"\0") + encode_varint(record.timestamp - base) + encode_varint(delta)
        for field in (record.key, record.value):
            body += encode_varint(-1) if field is None else encode_varint(len(field)) + field
        body += encode_varint(0)
        out += encode_varint(len(body)) + body
    return Run(records[0].offset, len(records), base, max(r.timestamp for r in records), memoryview(out))
