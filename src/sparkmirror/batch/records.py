"""The records of one batch, one by one, in plain Python: to look at the end of a log or into an internal topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparkmirror.batch.codec import decompress
from sparkmirror.batch.header import HEADER_BYTES, MAGIC, BatchHeader, read_header, seal_records
from sparkmirror.batch.legacy import read_legacy_records
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.wire import encode_varint

SHOWN_BYTES = 100
MOST_RECORDS = 1 << 22  # of a batch: as Python's objects they take a GB


class PlainRecord(NamedTuple):
    """`content`: key, value and headers as they are encoded."""

    offset: int
    timestamp: int
    content: bytes


class KeyedRecord(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_keyed_records(header: BatchHeader, batch: memoryview) -> list[KeyedRecord]:
    """Keys and values of a batch of any format; headers are left out."""
    if header.magic < MAGIC:
        return [KeyedRecord(*record) for record in read_legacy_records(batch)]
    return [
        KeyedRecord(offset, timestamp, *_split_content(data, at, end))
        for offset, timestamp, data, at, end in _walk(header, batch)
    ]


def read_records(header: BatchHeader, batch: memoryview) -> list[PlainRecord]:
    """All records of a batch of format 2."""
    return [PlainRecord(offset, timestamp, data[at:end]) for offset, timestamp, data, at, end in _walk(header, batch)]


def _walk(header: BatchHeader, batch: memoryview) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Offset and timestamp of each record, all records' bytes, and where in them its content begins and ends."""
    if header.records > MOST_RECORDS:
        raise ProtocolError(f"the batch at offset {header.first} says that it has {header.records} records")
    data = bytes(decompress(header.codec, batch[HEADER_BYTES:]))
    first, time_base, size = header.first, header.base_timestamp, len(data)
    appended = header.max_timestamp if header.is_log_append_time else None
    at = 0
    for _ in range(header.records):
        length, at = _read_varint(data, at)
        end = at + length
        if length < 1 or end > size:
            raise ProtocolError(f"the batch at offset {first} holds a record that goes past its end")
        time_delta, rest = _read_varint(data, at + 1)
        offset_delta, rest = _read_varint(data, rest)
        yield first + offset_delta, time_base + time_delta if appended is None else appended, data, rest, end
        at = end


def encode_keyed_batches(records: Iterable[tuple[bytes, bytes | None]], timestamp: int, limit: int) -> Iterator[bytes]:
    """Keys and values as batches of about `limit` bytes at most, or one record each where that is larger."""
    encoded: list[bytes] = []
    size = 0
    for key, value in records:
        record = _encode_record(len(encoded), key, value)
        if encoded and size + len(record) > limit:
            yield seal_records(b"".join(encoded), len(encoded), timestamp)
            encoded, size, record = [], 0, _encode_record(0, key, value)
        encoded.append(record)
        size += len(record)
    if encoded:
        yield seal_records(b"".join(encoded), len(encoded), timestamp)


def _encode_record(offset_delta: int, key: bytes, value: bytes | None) -> bytes:
    """Attributes and the timestamp's delta are 0, and there are no headers."""
    there = b"\1" if value is None else encode_varint(len(value)) + value
    content = b"\0\0" + encode_varint(offset_delta) + encode_varint(len(key)) + key + there + b"\0"
    return encode_varint(len(content)) + content


def describe_record(batch: memoryview, index: int) -> str:
    """Key and value of one record, as a log shows them: the beginning of each, and how long it is."""
    try:
        key, value = split_content(read_records(read_header(batch), batch)[index].content)
    except (ProtocolError, IndexError) as error:
        return f"its content can't be shown: {error}"
    return f"key {_shorten(key)}, value {_shorten(value)}"


def _shorten(content: bytes | None) -> str:
    if content is None or len(content) <= SHOWN_BYTES:
        return repr(content)
    return f"{content[:SHOWN_BYTES]!r}... ({len(content)} bytes)"


def split_content(content: bytes) -> tuple[bytes | None, bytes | None]:
    """Key and value."""
    return _split_content(content, 0, len(content))


def split_headers(content: bytes) -> list[tuple[bytes, bytes | None]]:
    """The headers of a record, of what `PlainRecord` calls its content."""
    end = len(content)
    _, at = _read_bytes(content, 0, end)
    _, at = _read_bytes(content, at, end)
    count, at = _read_varint(content, at)
    if not 0 <= count <= end:
        raise ProtocolError(f"a record says that it has {count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(content, at, end)
        value, at = _read_bytes(content, at, end)
        headers.append((name or b"", value))
    return headers


def _split_content(data: bytes, at: int, end: int) -> tuple[bytes | None, bytes | None]:
    """Key and value of the content that stands in `at..end`."""
    key, at = _read_bytes(data, at, end)
    value, _ = _read_bytes(data, at, end)
    return key, value


def _read_bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """-1 for null, else a length and as many bytes."""
    length, at = _read_varint(data, at)
    after = at + length if length > 0 else at
    if length < -1 or after > end:
        raise ProtocolError(f"a record has a field of {length} bytes, {end - at} are left")
    return (None if length < 0 else data[at:after]), after


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    size = len(data)
    if at < size and (byte := data[at]) < 0x80:  # as most are
        return (byte >> 1) ^ -(byte & 1), at + 1
    if at + 1 < size and (second := data[at + 1]) < 0x80:
        value = byte & 0x7F | second << 7
        return (value >> 1) ^ -(value & 1), at + 2
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ProtocolError("a number in a record does not end")
