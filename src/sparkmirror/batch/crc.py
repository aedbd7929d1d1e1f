"""CRC-32C of many small batches at once, for kernels: a call a batch would cost more than its bytes.

Eight tables, eight bytes a step ("slicing by eight"). Large batches go to the hardware's instruction instead
(`batch.header`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.kernel import Bytes, kernel

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _make_tables() -> NDArray[np.uint32]:
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> np.uint32(8)) ^ tables[0, tables[k - 1] & np.uint32(0xFF)]
    return tables


_TABLES = _make_tables()


@kernel
def crc32c_of(data: Bytes, start: int, end: int) -> int:
    """CRC-32C of `data[start:end]`."""
    crc = np.uint32(0xFFFFFFFF)
    at = start
    while at + 8 <= end:
        a = crc ^ (
            np.uint32(data[at])
            | np.uint32(data[at + 1]) << np.uint32(8)
            | np.uint32(data[at + 2]) << np.uint32(16)
            | np.uint32(data[at + 3]) << np.uint32(24)
        )
        crc = (
            _TABLES[7, a & np.uint32(0xFF)]
            ^ _TABLES[6, (a >> np.uint32(8)) & np.uint32(0xFF)]
            ^ _TABLES[5, (a >> np.uint32(16)) & np.uint32(0xFF)]
            ^ _TABLES[4, a >> np.uint32(24)]
            ^ _TABLES[3, data[at + 4]]
            ^ _TABLES[2, data[at + 5]]
            ^ _TABLES[1, data[at + 6]]
            ^ _TABLES[0, data[at + 7]]
        )
        at += 8
    while at < end:
        crc = (crc >> np.uint32(8)) ^ _TABLES[0, (crc ^ np.uint32(data[at])) & np.uint32(0xFF)]
        at += 1
    return int(crc ^ np.uint32(0xFFFFFFFF))
