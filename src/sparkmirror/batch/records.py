"""The records of one batch, one by one, in plain Python: to look at the end of a log, never to copy."""

from __future__ import annotations

from typing import NamedTuple

from sparkmirror.batch.codec import decompress
from sparkmirror.batch.header import HEADER_BYTES, BatchHeader, read_header
from sparkmirror.errors import ProtocolError

SHOWN_BYTES = 100


class PlainRecord(NamedTuple):
    """`content`: key, value and headers as they are encoded."""

    offset: int
    timestamp: int
    content: bytes


def read_records(header: BatchHeader, batch: memoryview) -> list[PlainRecord]:
    """All records of a batch of format 2."""
    data = memoryview(bytes(decompress(header.codec, batch[HEADER_BYTES:])))
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
        records.append(PlainRecord(header.first + offset_delta, timestamp, bytes(data[rest:end])))
        at = end
    return records


def describe_record(batch: memoryview, index: int) -> str:
    """Key and value of one record, as a log shows them: the beginning of each, and how long it is."""
    try:
        data = memoryview(read_records(read_header(batch), batch)[index].content)
        key, at = _read_bytes(data, 0)
        value, _ = _read_bytes(data, at)
    except (ProtocolError, IndexError) as error:
        return f"its content can't be shown: {error}"
    return f"key {_shorten(key)}, value {_shorten(value)}"


def _read_bytes(data: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = _read_varint(data, at)
    return (None, at) if length < 0 else (bytes(data[at : at + length]), at + length)


def _shorten(content: bytes | None) -> str:
    if content is None or len(content) <= SHOWN_BYTES:
        return repr(content)
    return f"{content[:SHOWN_BYTES]!r}... ({len(content)} bytes)"


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ProtocolError("a number in a record does not end")
