"""Whether batches are those that the source's leader stored: by the CRC that each has in its header."""

from __future__ import annotations

from sparkmirror.batch import scan
from sparkmirror.batch.crc import crc32c_of
from sparkmirror.batch.header import CRC_AT, CRC_FROM, has_valid_crc
from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.errors import ProtocolError

# The hardware's instruction is twenty times as fast as the kernel, but takes a call a batch: as long as the kernel
# takes for this.
CALL_BYTES = 2 << 10


def refuse_damaged(data: Bytes, rows: scan.Table) -> None:
    """Raise for the first of these rows of a scan whose CRC is not that of its bytes."""
    if rows[-1, scan.AFTER] - rows[0, scan.START] < CALL_BYTES * len(rows):
        damaged = _find_damaged(data, rows)
        if damaged >= 0:
            raise _damaged(int(rows[damaged, scan.FIRST]))
    else:
        view = data.data
        for start, after, first in rows[:, : scan.FIRST + 1].tolist():
            refuse_if_damaged(view[start:after], first)


def refuse_if_damaged(batch: memoryview, first: int) -> None:
    """The same for one batch, which begins at this offset."""
    if not has_valid_crc(batch):
        raise _damaged(first)


def _damaged(first: int) -> ProtocolError:
    return ProtocolError(f"the batch at offset {first} arrived with a wrong CRC")


@kernel
def _find_damaged(data: Bytes, rows: scan.Table) -> int:
    for i in range(len(rows)):
        start = rows[i, scan.START]
        said = scan.big_endian(data, start + CRC_AT, 4) & 0xFFFFFFFF
        if crc32c_of(data, start + CRC_FROM, rows[i, scan.AFTER]) != said:
            return i
    return -1
