"""The kernels' CRC is CRC-32C, by the processor's instruction and by tables."""

from __future__ import annotations

import random

import numpy as np
import pytest
from awscrt.checksums import crc32c

from sparkmirror.batch import crc

DATA = np.random.default_rng(1).integers(0, 256, 100_000, dtype=np.uint8)


@pytest.mark.parametrize("compute", [crc.crc32c_of, crc._by_tables])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 61, 1000, 3071, 3072, 3073, 3080, 6144, 20_000, 65_537])
def test_any_length_at_any_place(compute: object, size: int) -> None:
    for start in (0, 1, 3, random.randrange(10_000)):
        expected = crc32c(DATA[start : start + size].tobytes())
        assert compute(DATA, start, start + size) == expected  # type: ignore[operator]


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 4), (0, 100_001)])
def test_nothing_outside_of_the_array_is_read(start: int, end: int) -> None:
    with pytest.raises(IndexError):
        crc.crc32c_of(DATA, start, end)
