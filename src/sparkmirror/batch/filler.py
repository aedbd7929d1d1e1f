"""Batches of empty records that take up offsets: 10 million a second, a million in well under a megabyte.

They fill the gap in front of a log that does not begin at 0, and are removed before the first real record comes.
"""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.build import seal
from sparkmirror.batch.codec import compress
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.batch.rewrite import Run
from sparkmirror.batch.varint import varint_size, write_varint

MOST_RECORDS = 1_000_000
ZSTD = 4
_LONGEST = 12


def build_filler(records: int, timestamp: int, producer_id: int, epoch: int, sequence: int) -> memoryview:
    plain = np.empty(records * _LONGEST, np.uint8)
    packed = compress(ZSTD, plain[: _write_empty(records, plain)].data)
    batch = bytearray(HEADER_BYTES + len(packed))
    batch[HEADER_BYTES:] = packed
    run = Run(0, records, timestamp, timestamp, memoryview(batch))
    return seal(run, ZSTD, producer_id, epoch, sequence)


@kernel
def _write_empty(records: int, out: Bytes) -> int:
    """Records without key, value and headers; answers the bytes they take."""
    at = 0
    for delta in range(records):
        at = write_varint(out, at, 5 + varint_size(delta))
        out[at] = 0  # attributes
        out[at + 1] = 0  # timestamp delta
        at = write_varint(out, at + 2, delta)
        out[at] = 1  # no key
        out[at + 1] = 1  # no value
        out[at + 2] = 0  # no headers
        at += 3
    return at
