"""Message formats 0 and 1 in plain Python: the writing side, to check the reading side against."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from sparkmirror.batch.codec import LZ4, compress
from sparkmirror.batch.legacy import LegacyRecord

LOG_APPEND_TIME = 0x08


def encode_message(record: LegacyRecord, magic: int, attributes: int = 0) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", record.timestamp)
    for field in (record.key, record.value):
        body += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", record.offset, len(message)) + message


def encode_messages(records: Sequence[LegacyRecord], magic: int) -> bytes:
    return b"".join(encode_message(record, magic) for record in records)


def encode_wrapper(records: Sequence[LegacyRecord], magic: int, codec: int, append_time: int | None = None) -> bytes:
    """One compressed message as a broker stores it: relative offsets inside from format 1 on."""
    last = records[-1].offset
    base = records[0].offset if magic == 1 else 0
    inner = encode_messages([r._replace(offset=r.offset - base) for r in records], magic)
    packed = bytearray(compress(codec, inner))
    if magic == 0 and codec == LZ4:
        packed[6] ^= 0x5A  # old clients wrote a wrong header checksum here
    timestamp = max(r.timestamp for r in records) if append_time is None else append_time
    attributes = codec | (0 if append_time is None else LOG_APPEND_TIME)
    return encode_message(LegacyRecord(last, timestamp, None, bytes(packed)), magic, attributes)
