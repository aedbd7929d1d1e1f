"""Compiles the kernels that the copy uses, or loads them from the cache: seconds that must not fall into a copy."""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.build import rebuild, seal
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.rewrite import Run
from sparkmirror.batch.scan import NO_LIMIT, scan_batches


def warm_up() -> None:
    # One record: length, attributes, both deltas, no key, no value, no headers.
    one = memoryview(bytearray(HEADER_BYTES) + b"\x0c\0\0\0\1\1\0")
    batch = seal(Run(0, 1, 0, 0, one), 0, -1, -1, -1)
    data = np.frombuffer(batch, np.uint8)
    found = scan_batches(data, 0, aborted=[(1, 0)])
    rebuild(data, found.rows, keep_first=0, keep_end=1, limit=NO_LIMIT)


if __name__ == "__main__":
    warm_up()
