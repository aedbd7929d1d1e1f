"""Readers of record batches. Where a checksum guards them it is made right again, or nothing behind it is reached."""

from __future__ import annotations

import struct
import zlib
from unittest import mock

import numpy as np
from awscrt.checksums import crc32c

from sparkmirror.batch.codec import GZIP, NONE, compress, decompress
from sparkmirror.batch.columns import decode_records
from sparkmirror.batch.decode_fetch import decode_fetch
from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, read_header, split_batches
from sparkmirror.batch.legacy import LegacyRecord, read_legacy_records
from sparkmirror.batch.records import read_keyed_records
from sparkmirror.batch.scan import scan_batches
from sparkmirror.copy import queue as copy_queue
from sparkmirror.copy.queue import CopyQueue
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.fetch import FetchedPartition
from tests.fuzz.target import Target
from tests.support.arrow import from_arrow
from tests.support.codecs import COMPRESSED
from tests.support.golden import BATCHES
from tests.support.logs import make_log
from tests.support.message_sets import encode_message
from tests.support.records import decode_section

MAX_BYTES = 1 << 20
END = 1 << 50  # of a log
# first offset, last delta, count, base timestamp, max timestamp, LogAppendTime
_FIELDS = struct.Struct(">qiiqqB")


def _golden(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(BATCHES.glob(pattern))]


def _split(data: bytes) -> None:
    for header, batch in split_batches(memoryview(data)):
        has_valid_crc(batch)
        assert header.records >= 0 or header.magic < 2


def _decompress(data: bytes) -> None:
    """The first byte is the codec."""
    decompress(data[0] if data else NONE, data[1:], max_bytes=MAX_BYTES)


def _codec_inputs() -> list[bytes]:
    texts = [b"", b"a", b"some text " * 20, bytes(range(256)) * 2]
    ours = [bytes([codec]) + compress(codec, text) for codec in COMPRESSED for text in texts]
    theirs = [read_header(memoryview(batch)).codec.to_bytes(1) + batch[HEADER_BYTES:] for batch in _golden("*-few.bin")]
    return ours + [data for data in theirs if data[0] in COMPRESSED]


def _read_columns(data: bytes) -> None:
    """The same records as plain Python finds, or refused by both."""
    fields, section = data[: _FIELDS.size].ljust(_FIELDS.size, b"\0"), data[_FIELDS.size :]
    first, last_delta, count, base, latest, append = _FIELDS.unpack(fields)
    append_time = latest if append & 1 else None
    try:
        expected = decode_section(
            section, first=first, last_delta=last_delta, count=count, base_timestamp=base, append_time=append_time
        )
    except ProtocolError:
        expected = None
    found = decode_records(
        section,
        first=first,
        last_delta=last_delta,
        count=count,
        base_timestamp=base,
        max_timestamp=latest,
        log_append_time=append_time is not None,
    )
    found.validate(full=True)
    if expected is None:
        raise AssertionError("plain Python refuses it")
    java_text = [tuple((k.decode("utf-8", "replace").encode(), v) for k, v in r.headers) for r in expected]
    if from_arrow(found) != [r._replace(headers=h) for r, h in zip(expected, java_text, strict=True)]:
        raise AssertionError("plain Python reads other records")


def _column_inputs() -> list[bytes]:
    inputs = []
    for batch in _golden("v2-none-few*.bin"):
        header = read_header(memoryview(batch))
        append = int(header.is_log_append_time)
        fields = (header.first, header.last_delta, header.records, header.base_timestamp, header.max_timestamp, append)
        inputs.append(_FIELDS.pack(*fields) + batch[HEADER_BYTES:])
    return inputs


def _read_legacy(data: bytes) -> None:
    read_legacy_records(_with_checksums(data), max_bytes=MAX_BYTES)


def _read_wrapped(data: bytes) -> None:
    """The first byte's lowest bit is the wrapper's format; what follows is wrapped."""
    magic = data[0] & 1 if data else 0
    packed = compress(GZIP, _with_checksums(data[1:]))
    read_legacy_records(encode_message(LegacyRecord(1009, 0, None, packed), magic, GZIP), max_bytes=MAX_BYTES)


def _wrapped_inputs() -> list[bytes]:
    """What golden wrappers hold."""
    inputs = []
    for magic in (0, 1):
        for batch in _golden(f"v{magic}-gzip-few*.bin"):
            value = batch[26 if magic == 0 else 34 :]
            inputs.append(bytes([magic]) + bytes(decompress(GZIP, value)))
    return inputs


def _with_checksums(data: bytes) -> bytes:
    """Messages as far as their sizes lead, each with the checksum that its bytes have."""
    out, position = bytearray(data), 0
    while position + 16 <= len(out):
        size = struct.unpack_from(">i", out, position + 8)[0]
        after = position + 12 + size
        if size < 4 or after > len(out):
            break
        struct.pack_into(">I", out, position + 12, zlib.crc32(out[position + 16 : after]))
        position = after
    return bytes(out)


def _read_keyed(data: bytes) -> None:
    """The batches of an internal topic."""
    for header, batch in split_batches(memoryview(_with_checksums(data))):
        read_keyed_records(header, batch)


def _queue(data: bytes) -> None:
    """Everything that a fetch goes through on its way to an append; checksums are right, or nothing is reached."""
    fetched = bytearray(_with_batch_checksums(data))
    queue = CopyQueue(4711)
    queue.restart(0, 0)
    queue.add(FetchedPartition("t", 0, 0, END, END, 0, ((1, 0), (2, 5)), -1, memoryview(fetched)), None)


def _queue_in_steps(data: bytes) -> None:
    """The same where each batch that is opened ends the step: no record more or less than all at once."""
    whole = _outcome(data)
    with (
        mock.patch.object(copy_queue, "MOST_OPENED_BYTES", 0),
        mock.patch.object(copy_queue, "MERGE_BYTES", 1),
        mock.patch.object(copy_queue, "LEGACY_BYTES", 1),
    ):
        assert _outcome(data) == whole
    if whole is None:
        raise ProtocolError("refused")


def _outcome(data: bytes) -> tuple[int, int, int] | None:
    """Where the queue stands at the end of a fetch, or None where it is refused."""
    queue = CopyQueue(4711)
    queue.restart(0, 0)
    fetched = _with_batch_checksums(data)
    before = -1
    while queue.position > before:
        before = queue.position
        try:
            answer = FetchedPartition("t", 0, 0, END, END, 0, ((1, 0), (2, 5)), -1, memoryview(bytearray(fetched)))
            queue.add(answer, None)
        except ProtocolError:
            return None
    return queue.position, queue.sequence, queue.held_records


def _read_rows(data: bytes) -> None:
    """A fetch on its way to rows."""
    fetched = memoryview(_with_batch_checksums(data))
    found = scan_batches(np.frombuffer(fetched, np.uint8), 0, aborted=((1, 0), (2, 5)))
    for rows in decode_fetch(fetched, found, 0, 1 << 62):
        rows.validate(full=True)


def _queue_inputs() -> list[bytes]:
    logs = [make_log(seed) for seed in range(40)]
    return [b"".join(batch.encode() for batch in log) for log in logs if log] + _golden("*-few*.bin")


def _with_batch_checksums(data: bytes) -> bytes:
    out, position = bytearray(data), 0
    while position + 61 <= len(out):
        after = position + 12 + struct.unpack_from(">i", out, position + 8)[0]
        if after < position + 61 or after > len(out):
            break
        if out[position + 16] == 2:
            struct.pack_into(">I", out, position + 17, crc32c(bytes(out[position + 21 : after])))
        position = after
    return bytes(out)


TARGETS = [
    Target("copy_queue", _queue, _queue_inputs()),
    Target("copy_queue_in_steps", _queue_in_steps, _queue_inputs()),
    Target("decode_fetch", _read_rows, _queue_inputs()),
    Target("split_batches", _split, _golden("*-few*.bin")),
    Target("codec", _decompress, _codec_inputs()),
    Target("columns", _read_columns, _column_inputs()),
    Target("keyed_records", _read_keyed, _golden("*-few*.bin")),
    Target("legacy", _read_legacy, _golden("v[01]-*-few*.bin")),
    Target("legacy_wrapped", _read_wrapped, _wrapped_inputs()),
]
