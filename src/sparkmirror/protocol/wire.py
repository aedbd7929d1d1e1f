"""The primitive types of Kafka's protocol, in both encodings: classic and flexible (KIP-482).

type            classic                 flexible ("compact")
STRING          int16 length            uvarint length + 1
BYTES, RECORDS  int32 length            uvarint length + 1
ARRAY           int32 count             uvarint count + 1
struct end      nothing                 tagged fields: uvarint count, then (tag, size, bytes)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from sparkmirror.errors import ProtocolError

_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")

MAX_ARRAY = 10_000_000
MAX_STRING = 2**15 - 1  # also of the flexible encoding, which could hold more
UUID_BYTES = 16


def encode_uvarint(value: int) -> bytes:
    """An unsigned LEB128 number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varint(value: int) -> bytes:
    """A signed number, zigzag, as records have it."""
    return encode_uvarint((value << 1) ^ (value >> 63))


def encode_string(text: str) -> bytes:
    """A classic STRING."""
    data = text.encode()
    return _I16.pack(len(data)) + data


def encode_compact_string(text: str) -> bytes:
    """A flexible STRING."""
    data = text.encode()
    return encode_uvarint(len(data) + 1) + data


class Reader:
    """Reads fields one after the other from a response; every read is checked against the frame's end."""

    __slots__ = ("flexible", "frame", "position")

    def __init__(self, frame: memoryview, *, flexible: bool) -> None:
        self.frame = frame
        self.position = 0
        self.flexible = flexible

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        try:
            values = layout.unpack_from(self.frame, self.position)
        except struct.error as error:
            raise ProtocolError(f"response ends inside a field at byte {self.position}") from error
        self.position += layout.size
        return values

    def int16(self) -> int:
        return self.unpack(_I16)[0]

    def int32(self) -> int:
        return self.unpack(_I32)[0]

    def int64(self) -> int:
        return self.unpack(_I64)[0]

    def uvarint(self) -> int:
        value = shift = 0
        while shift < 35:
            if self.position >= len(self.frame):
                raise ProtocolError("response ends inside a number")
            byte = self.frame[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ProtocolError("a number is longer than five bytes")

    def take(self, size: int) -> memoryview:
        end = self.position + size
        if size < 0 or end > len(self.frame):
            raise ProtocolError(f"a field of {size} bytes goes past the end of the response")
        view = self.frame[self.position : end]
        self.position = end
        return view

    def skips(self, expected: bytes) -> bool:
        """Pass over these bytes if they come next."""
        end = self.position + len(expected)
        if self.frame[self.position : end] != expected:
            return False
        self.position = end
        return True

    def peek(self, layout: struct.Struct, count: int) -> Iterator[tuple[Any, ...]]:
        """So many structs of one size, if they are there; nothing is passed over."""
        end = self.position + count * layout.size
        return layout.iter_unpack(self.frame[self.position : end] if end <= len(self.frame) else b"")

    def array(self) -> int:
        """The number of elements; a null array counts as empty."""
        count = self.uvarint() - 1 if self.flexible else self.int32()
        if count > MAX_ARRAY or count > len(self.frame):
            raise ProtocolError(f"an array of {count} elements can't be in this response")
        return max(count, 0)

    def string(self) -> str | None:
        size = self.uvarint() - 1 if self.flexible else self.int16()
        if size < 0:
            return None
        if size > MAX_STRING:
            raise ProtocolError(f"a text of {size} bytes is longer than Kafka's may be")
        try:
            return str(self.take(size), "utf-8")
        except UnicodeDecodeError as error:
            raise ProtocolError("a name in the response is not UTF-8") from error

    def records(self) -> memoryview:
        """A view onto the records of a partition; null counts as empty."""
        size = self.uvarint() - 1 if self.flexible else self.int32()
        return self.take(max(size, 0))

    def uuid(self) -> bytes:
        return bytes(self.take(UUID_BYTES))

    def skip_tags(self, known: dict[int, Callable[[Reader], None]] | None = None) -> None:
        """Pass over the tagged fields that end a flexible struct, handing the known ones out."""
        if not self.flexible:
            return
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            field = self.take(size)
            if known and tag in known:
                known[tag](Reader(field, flexible=True))
