"""Record batches made once and sent many times: a producer that costs nothing but the socket.

A batch without a producer id (-1) may be sent again as it is. Layout of the header: `sparkmirror.batch.header`.
A record (KIP-98), all numbers zigzag varints but for the attributes byte:

    length | attributes 0 | timestamp delta | offset delta | key length -1 | value length | value | headers 0
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa
from awscrt.checksums import crc32c

from bench.sizes import PARTITIONS, RECORD_BYTES, SMALL_RECORD_BYTES
from sparkmirror.protocol.wire import encode_varint

RECORDS_A_BATCH = 64  # of 1,000 bytes: 64.6 KB, just under a batch.size of 65,536
SMALL_BATCHES = (1, 10)
LZ4 = 3
SEED = 20_240

_BEFORE_CRC = struct.Struct(">qiib")
_AFTER_CRC = struct.Struct(">hiqqqhii")

ValueMaker = Callable[[random.Random], bytes]


class Batch(NamedTuple):
    records: int
    data: bytes


def build_batch(values: Sequence[bytes], *, timestamp_ms: int, lz4: bool = False) -> Batch:
    """A whole batch, format 2, of records without keys and headers."""
    records = b"".join(_encode_record(delta, value) for delta, value in enumerate(values))
    if lz4:
        # Kafka reads only independent blocks; one block (64 KB at most) is always independent.
        records = pa.Codec("lz4").compress(records, asbytes=True)
    last = len(values) - 1
    body = _AFTER_CRC.pack(LZ4 if lz4 else 0, last, timestamp_ms, timestamp_ms, -1, -1, -1, len(values)) + records
    head = _BEFORE_CRC.pack(0, len(body) + 9, -1, 2)
    return Batch(len(values), head + struct.pack(">I", crc32c(body)) + body)


def _encode_record(delta: int, value: bytes) -> bytes:
    body = b"\0\0" + encode_varint(delta) + encode_varint(-1) + encode_varint(len(value)) + value + b"\0"
    return encode_varint(len(body)) + body


def random_value(rng: random.Random) -> bytes:
    """Nothing in it to compress."""
    return rng.randbytes(RECORD_BYTES)


def small_value(rng: random.Random) -> bytes:
    return rng.randbytes(SMALL_RECORD_BYTES)


def text_value(rng: random.Random) -> bytes:
    """An event as applications log them: names that repeat, values that do not."""
    words = [rng.choice(_WORDS) for _ in range(200)]
    event = f'{{"id":"{rng.getrandbits(128):032x}","user":{rng.getrandbits(40)},"text":"{" ".join(words)}'
    return event.encode()[: RECORD_BYTES - 2].ljust(RECORD_BYTES - 2, b".") + b'"}'


_WORDS = [f"{random.Random(n).getrandbits(36):09x}"[: 4 + n % 6] for n in range(400)]

Round = list[Batch]  # one batch a partition: what one Produce request carries


def burst_rounds() -> list[Round]:
    return _rounds(64, random_value, (RECORDS_A_BATCH, RECORDS_A_BATCH))


def lz4_rounds() -> list[Round]:
    return _rounds(64, text_value, (RECORDS_A_BATCH, RECORDS_A_BATCH), lz4=True)


def small_rounds() -> list[Round]:
    return _rounds(1024, small_value, SMALL_BATCHES)


def _rounds(count: int, make: ValueMaker, sizes: tuple[int, int], *, lz4: bool = False) -> list[Round]:
    rng = random.Random(SEED)
    now_ms = int(time.time() * 1000)

    def batch() -> Batch:
        values = [make(rng) for _ in range(rng.randint(*sizes))]
        return build_batch(values, timestamp_ms=now_ms, lz4=lz4)

    return [[batch() for _ in range(PARTITIONS)] for _ in range(count)]
