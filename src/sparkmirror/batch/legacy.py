"""Message formats 0 and 1, which brokers before 0.11 wrote and every broker still serves.

byte  field                  format 0      format 1
   0  offset            q
   8  size              i    (counts from byte 12)
  12  CRC-32            I    (of byte 16 to the end)
  16  magic             b    0             1
  17  attributes        b    codec (bits 0-2); in format 1 bit 3: LogAppendTime
  18  timestamp         q    -             yes
  ..  key               i and as many bytes; -1: null
  ..  value             i and as many bytes; -1: null

A message with a codec is a *wrapper*: its value is a compressed set of messages, and it has the offset of the last.

    wrapper at 109        format 0, inner offsets    105 106 109       as they are
                          format 1, inner offsets      0   1   4       last + (inner - last inner)

With LogAppendTime the wrapper's timestamp is that of all its messages; the inner ones are out of date.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparkmirror.batch import lz4_frame
from sparkmirror.batch.codec import LZ4, MAX_OUTPUT_BYTES, NONE, ZSTD, decompress
from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.produce import Buffer

NO_TIMESTAMP = -1
# What a compressed message may grow to. Each record in it becomes an object, which takes seven times as much.
MOST_OF_WRAPPER = 32 << 20

_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_PREFIX = struct.Struct(">qiIbb")
_CRC_FROM = 16
_SIZE_FROM = 12
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")


class LegacyRecord(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class _Message(NamedTuple):
    """One message as it stands in a set, wrapper or not."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC

    @property
    def is_log_append_time(self) -> bool:
        return self.magic == 1 and bool(self.attributes & _LOG_APPEND_TIME)


def read_legacy_records(messages: Buffer, *, max_bytes: int = MAX_OUTPUT_BYTES) -> list[LegacyRecord]:
    """All of them at once."""
    return list(walk_legacy_records(messages, max_bytes=max_bytes))


def split_messages(messages: memoryview, size: int) -> list[memoryview]:
    """The same in parts of about `size` bytes, of whole messages each.

    If they are out of order none is taken: what seems to be a hole between two of them may be none.
    """
    parts = []
    start = at = 0
    before = -1
    while len(messages) - at >= _PREFIX.size:
        offset = _I64.unpack_from(messages, at)[0]
        if offset <= before:
            raise _out_of_order(offset, before)
        before = offset
        at += _SIZE_FROM + max(0, _I32.unpack_from(messages, at + 8)[0])
        if at - start >= size:
            parts.append(messages[start:at])
            start = at
    return [*parts, messages[start:]] if start < len(messages) else parts


def _out_of_order(offset: int, before: int) -> ProtocolError:
    return ProtocolError(f"offset {offset} stands after {before} in a message set")


def walk_legacy_records(
    messages: Buffer, *, after: int = -1, max_bytes: int = MAX_OUTPUT_BYTES
) -> Iterator[LegacyRecord]:
    """The records of whole messages, unwrapped; a timestamp of -1 where the format has none.

    All of them stand `after` an offset. `max_bytes` bounds what all wrappers may grow to together.
    """
    before = after
    for message in _read_messages(memoryview(messages)):
        found: Iterable[LegacyRecord]
        if message.codec == NONE:
            found = (_as_record(message, message.offset, message.timestamp),)
        else:
            inner = _open_wrapper(message, min(max_bytes, MOST_OF_WRAPPER))
            max_bytes -= len(inner)
            found = _read_inner(message, inner)
        for record in found:
            if record.offset <= before:
                raise _out_of_order(record.offset, before)
            before = record.offset
            yield record


def _open_wrapper(wrapper: _Message, max_bytes: int) -> memoryview:
    if wrapper.value is None:
        raise ProtocolError(f"the compressed message at offset {wrapper.offset} has no value")
    if wrapper.codec >= ZSTD:
        raise ProtocolError(f"the message at offset {wrapper.offset} has codec {wrapper.codec}")
    if wrapper.codec == LZ4 and wrapper.magic == 0:
        return decompress(LZ4, lz4_frame.repair_header_checksum(wrapper.value), max_bytes=max_bytes)
    return decompress(wrapper.codec, wrapper.value, max_bytes=max_bytes)


def _read_inner(wrapper: _Message, content: memoryview) -> Iterator[LegacyRecord]:
    inner = list(_read_messages(content))
    if not inner:
        raise ProtocolError(f"the compressed message at offset {wrapper.offset} holds no messages")
    base = wrapper.offset - inner[-1].offset if wrapper.magic == 1 else 0
    if base < 0:
        raise ProtocolError(f"the compressed message at offset {wrapper.offset} holds one at {inner[-1].offset}")
    for message in inner:
        if message.codec != NONE or message.magic != wrapper.magic:
            raise ProtocolError(
                f"the compressed message at offset {wrapper.offset} of format {wrapper.magic} holds one "
                f"of format {message.magic} with codec {message.codec}"
            )
        timestamp = wrapper.timestamp if wrapper.is_log_append_time else message.timestamp
        yield _as_record(message, base + message.offset, timestamp)


def _read_messages(data: memoryview) -> Iterator[_Message]:
    position = 0
    while position < len(data):
        if len(data) - position < _PREFIX.size:
            raise ProtocolError("the data end inside a message")
        size = _I32.unpack_from(data, position + 8)[0]
        after = position + _SIZE_FROM + size
        if size < 0 or after > len(data):
            raise ProtocolError(f"a message of {size} bytes, {len(data) - position - _SIZE_FROM} are left")
        yield _read_message(data[position:after])
        position = after


def _read_message(data: memoryview) -> _Message:
    """A message whose end is the end of `data`."""
    if len(data) < _PREFIX.size:
        raise ProtocolError("a message is shorter than its fields")
    offset, _, crc, magic, attributes = _PREFIX.unpack_from(data)
    if magic not in (0, 1):
        raise ProtocolError(f"a message of format {magic} among those of formats 0 and 1")
    if zlib.crc32(data[_CRC_FROM:]) != crc:
        raise ProtocolError(f"the message at offset {offset} has a wrong checksum")
    position, timestamp = _PREFIX.size, NO_TIMESTAMP
    try:
        if magic == 1:
            timestamp = _I64.unpack_from(data, position)[0]
            position += _I64.size
        key, position = _read_bytes(data, position)
        value, position = _read_bytes(data, position)
    except struct.error as error:
        raise ProtocolError(f"the message at offset {offset} is shorter than its fields") from error
    if position != len(data):
        raise ProtocolError(f"the message at offset {offset} is longer than its fields")
    return _Message(offset, magic, attributes, timestamp, key, value)


def _read_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    size = _I32.unpack_from(data, position)[0]
    position += _I32.size
    if size == -1:
        return None, position
    if not 0 <= size <= len(data) - position:
        raise ProtocolError(f"a field of {size} bytes in a message, {len(data) - position} are left")
    return data[position : position + size], position + size


def _as_record(message: _Message, offset: int, timestamp: int) -> LegacyRecord:
    key = None if message.key is None else bytes(message.key)
    value = None if message.value is None else bytes(message.value)
    return LegacyRecord(offset, timestamp, key, value)
