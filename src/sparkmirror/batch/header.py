"""The header of a record batch, message format 2 (KIP-98).

byte  field                      inside the CRC
   0  base offset          q     no
   8  batch length         i     no    (counts from byte 12)
  12  partition leader epoch i   no
  16  magic                b     no
  17  CRC-32C              I     -     (of byte 21 to the end)
  21  attributes           h     yes
  23  last offset delta    i     yes
  27  base timestamp       q     yes
  35  max timestamp        q     yes
  43  producer id          q     yes
  51  producer epoch       h     yes
  53  base sequence        i     yes
  57  record count         i     yes
  61  records
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from awscrt.checksums import crc32c

from sparkmirror.errors import ProtocolError

HEADER_BYTES = 61
LENGTH_FROM = 12
CRC_AT = 17
CRC_FROM = 21
MAGIC = 2

_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
_DELETE_HORIZON = 0x40

_LAYOUT = struct.Struct(">qiibIhiqqqhii")
_PREFIX = struct.Struct(">qiib")
_BASE_AND_LENGTH = struct.Struct(">qi")
# An empty message of format 0: CRC, magic, attributes, two null lengths.
_SHORTEST = 14
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_PRODUCER = struct.Struct(">qhi")


class BatchHeader(NamedTuple):
    """The fields of one batch's header and what follows from them (a tuple: one is made a batch)."""

    first: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    sequence: int
    records: int

    @property
    def end(self) -> int:
        """The offset after the batch, as the log counts it."""
        return self.first + self.last_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; numbers wrap to 0 after 2^31 - 1."""
        return (self.sequence + self.last_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)


def read_header(batch: memoryview) -> BatchHeader:
    """The header of a whole batch. Formats 0 and 1 share only the fields up to the magic byte."""
    first, length, leader_epoch, magic = _PREFIX.unpack_from(batch)
    if magic != MAGIC:
        return BatchHeader(first, length, leader_epoch, magic, 0, 0, 0, 0, 0, -1, -1, -1, 0)
    if len(batch) < HEADER_BYTES:
        raise ProtocolError(f"the batch at offset {first} is shorter than its header")
    header = BatchHeader._make(_LAYOUT.unpack_from(batch))
    if header.records < 0 or header.last_delta < 0:
        raise ProtocolError(f"the batch at offset {first} says that it has {header.records} records")
    return header


def split_batches(records: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches of a fetch, each with its header. A broker may cut the last one off: it is left out."""
    position, end = 0, len(records)
    while end - position >= _PREFIX.size:
        length = _BASE_AND_LENGTH.unpack_from(records, position)[1]
        after = position + LENGTH_FROM + length
        if length < _SHORTEST:
            raise ProtocolError(f"a batch at byte {position} of a fetch says that it has {length} bytes")
        if after > end:
            return
        batch = records[position:after]
        yield read_header(batch), batch
        position = after


def patch_batch(batch: memoryview, attributes: int, producer_id: int, epoch: int, sequence: int) -> None:
    """Make a fetched batch ready to be appended by our producer: header fields and CRC, in place.

    Base offset 0 is what a producer sends. The transactional bit goes because the append is no transaction, the
    delete horizon because it is the source's cleaner's (the timestamps stay right without it, KIP-534).
    The records are not touched; the CRC is one pass at memory speed.
    """
    batch[:8] = b"\0\0\0\0\0\0\0\0"
    _ATTRIBUTES.pack_into(batch, CRC_FROM, attributes & ~(_TRANSACTIONAL | _DELETE_HORIZON))
    _PRODUCER.pack_into(batch, 43, producer_id, epoch, sequence)
    _CRC.pack_into(batch, CRC_AT, crc32c(batch[CRC_FROM:]))


def seal_records(records: bytes, count: int, timestamp: int) -> bytes:
    """Encoded records with a header in front: a batch of format 2, uncompressed, of nobody in particular."""
    length = HEADER_BYTES - LENGTH_FROM + len(records)
    fields = (0, length, -1, MAGIC, 0, 0, count - 1, timestamp, timestamp, -1, -1, -1, count)
    batch = bytearray(_LAYOUT.pack(*fields) + records)
    _CRC.pack_into(batch, CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return bytes(batch)


def has_valid_crc(batch: memoryview) -> bool:
    """Whether the bytes are those that the source's leader stored."""
    return bool(crc32c(batch[CRC_FROM:]) == _CRC.unpack_from(batch, CRC_AT)[0])
