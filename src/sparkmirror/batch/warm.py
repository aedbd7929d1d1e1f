"""Compiles the kernels that the copy uses, or loads them from the cache: seconds that must not fall into a copy."""

from __future__ import annotations

import numpy as np

from sparkmirror.batch.build import rebuild, seal
from sparkmirror.batch.compare import LOOK_COLUMNS, look, same_section, walk
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.kernel import Bytes
from sparkmirror.batch.key_table import make_table, note_latest
from sparkmirror.batch.rewrite import NOT_FIXED, Run
from sparkmirror.batch.scan import NO_LIMIT, scan_batches


def warm_up() -> None:
    data = _one_batch()
    found = scan_batches(data, 0, aborted=[(1, 0)])
    rebuild(data, found.rows, keep_first=0, keep_end=1, limit=NO_LIMIT)


def warm_up_comparison() -> None:
    data, at = _one_batch(), np.array([0, HEADER_BYTES], np.int64)
    sections = np.array([[HEADER_BYTES, len(data), 0, 0, 1, 0, NOT_FIXED]], np.int64)
    walk(data, sections, at.copy(), data, sections, at.copy(), 0, 0, 1, 0, 1)
    look(data, sections, at.copy(), 0, 1, np.empty(LOOK_COLUMNS, np.int64))
    same_section(data, sections[0], data, sections[0], 0)
    note_latest(data, sections, at.copy(), 0, 1, False, True, 0, 0, 1, make_table(4), 0)


def _one_batch() -> Bytes:
    # One record: length, attributes, both deltas, no key, no value, no headers.
    one = memoryview(bytearray(HEADER_BYTES) + b"\x0c\0\0\0\1\1\0")
    return np.frombuffer(seal(Run(0, 1, 0, 0, one), 0, -1, -1, -1), np.uint8)
