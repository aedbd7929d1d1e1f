"""Records and their wire format in plain Python: slow and obvious, to check the compiled kernels against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkmirror.errors import ProtocolError

Header = tuple[bytes, bytes | None]

INT32 = 1 << 32
INT64 = 1 << 64


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def wrap(value: int, modulus: int) -> int:
    """What Java's int and long do on overflow."""
    value %= modulus
    return value - modulus if value >= modulus // 2 else value


def encode_varint(value: int) -> bytes:
    """A zigzag number, as records have it for all lengths and deltas."""
    left = (value << 1) if value >= 0 else ((-value << 1) - 1)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(offset_delta)
    body += _encode_bytes(record.key) + _encode_bytes(record.value) + encode_varint(len(record.headers))
    for key, value in record.headers:
        body += _encode_bytes(key) + _encode_bytes(value)
    return encode_varint(len(body)) + body


def encode_section(records: Sequence[Record], first: int, base_timestamp: int) -> bytes:
    """The records section of a batch."""
    return b"".join(encode_record(r, r.offset - first, wrap(r.timestamp - base_timestamp, INT64)) for r in records)


def _encode_bytes(data: bytes | None) -> bytes:
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


class SectionReader:
    """Reads a records section by Kafka's rules (DefaultRecord, ByteUtils); ProtocolError for all else."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def varint(self, bits: int) -> int:
        """At most 5 or 10 bytes; what does not fit the type is cut off, as in Java."""
        value = 0
        for count in range(5 if bits == 32 else 10):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                value %= 1 << bits
                return (value >> 1) ^ -(value & 1)
        raise ProtocolError("varint too long")

    def take(self, size: int) -> bytes:
        if size < 0 or self.position + size > len(self.data):
            raise ProtocolError("past the end")
        taken = self.data[self.position : self.position + size]
        self.position += size
        return taken

    def nullable(self) -> bytes | None:
        size = self.varint(32)
        return None if size == -1 else self.take(size)


def decode_section(
    data: bytes, *, first: int, last_delta: int, count: int, base_timestamp: int, append_time: int | None = None
) -> list[Record]:
    """`append_time` stands for every timestamp if the batch has LogAppendTime."""
    if count < 0:
        raise ProtocolError("record count")
    outer = SectionReader(data)
    records: list[Record] = []
    before = -1
    for _ in range(count):
        reader = SectionReader(outer.take(outer.varint(32)))
        reader.take(1)
        timestamp = wrap(base_timestamp + reader.varint(64), INT64)
        delta = reader.varint(32)
        if not before < delta <= last_delta:
            raise ProtocolError("offset delta")
        before = delta
        key, value = reader.nullable(), reader.nullable()
        headers = tuple(_read_header(reader) for _ in range(_header_count(reader)))
        if reader.position != len(reader.data):
            raise ProtocolError("record length")
        records.append(Record(first + delta, timestamp if append_time is None else append_time, key, value, headers))
    if outer.position != len(data):
        raise ProtocolError("trailing bytes")
    return records


def _header_count(reader: SectionReader) -> int:
    count = reader.varint(32)
    if not 0 <= count <= len(reader.data):
        raise ProtocolError("header count")
    return count


def _read_header(reader: SectionReader) -> Header:
    key = reader.take(reader.varint(32))
    return key, reader.nullable()
