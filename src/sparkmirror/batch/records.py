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
    return [KeyedRecord(r.offset, r.timestamp, *split_content(r.content)) for r in read_records(header, batch)]


def read_records(header: BatchHeader, batch: memoryview) -> list[PlainRecord]:
    """All records of a batch of format 2."""
    data = bytes(decompress(header.codec, batch[HEADER_BYTES:]))
    records = []
    at = 0
    for _ in range(header.records):
        length, at = _read_varint(data, at)
        end = at + length
        if length < 1 or end > len(data):
            raise ProtocolError(f"the batch at offset {header.first} holds a record that goes past its end")
        timestamp_delta, rest = _read_varint(data, at + 1)
        offset_delta, rest = _read_varint(data, rest)
        timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + timestamp_delta
        records.append(PlainRecord(header.first + offset_delta, timestamp, data[rest:end]))
        at = end
    return records


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
    key, at = _read_bytes(content, 0)
    value, _ = _read_bytes(content, at)
    return key, value


def split_headers(content: bytes) -> list[tuple[bytes, bytes | None]]:
    """The headers of a record, of what `PlainRecord` calls its content."""
    _, at = _read_bytes(content, 0)
    _, at = _read_bytes(content, at)
    count, at = _read_varint(content, at)
    if not 0 <= count <= len(content):
        raise ProtocolError(f"a record says that it has {count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(content, at)
        value, at = _read_bytes(content, at)
        headers.append((name or b"", value))
    return headers


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """-1 for null, else a length and as many bytes."""
    length, at = _read_varint(data, at)
    end = at + max(length, 0)
    if length < -1 or end > len(data):
        raise ProtocolError(f"a record has a field of {length} bytes, {len(data) - at} are left")
    return (None if length < 0 else data[at:end]), end


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    if at < len(data) and (byte := data[at]) < 0x80:  # as most are
        return (byte >> 1) ^ -(byte & 1), at + 1
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ProtocolError("a number in a record does not end")
