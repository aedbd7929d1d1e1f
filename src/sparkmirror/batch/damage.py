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
    else:
        view = data.data
        places = rows[:, : scan.AFTER + 1].tolist()
        damaged = next((i for i, (start, after) in enumerate(places) if not has_valid_crc(view[start:after])), -1)
    if damaged >= 0:
        raise ProtocolError(f"the batch at offset {rows[damaged, scan.FIRST]} arrived with a wrong CRC")


@kernel
def _find_damaged(data: Bytes, rows: scan.Table) -> int:
    for i in range(len(rows)):
        start = rows[i, scan.START]
        said = scan.big_endian(data, start + CRC_AT, 4) & 0xFFFFFFFF
        if crc32c_of(data, start + CRC_FROM, rows[i, scan.AFTER]) != said:
            return i
    return -1
