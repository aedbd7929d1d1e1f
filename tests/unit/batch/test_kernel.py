"""Kernels are compiled wherever the program runs."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from sparkmirror.batch import kernel


def test_kernels_work_where_nothing_can_be_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba refuses to define a cached function then: a read-only container without a home."""
    real: Any = numba.njit

    def without_folder(*, nogil: bool, cache: bool = False) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(nogil=nogil)

    monkeypatch.setattr(kernel, "njit", without_folder)

    @kernel.kernel
    def add(left: int, right: int) -> int:
        return left + right

    assert add(2, 3) == 5


@pytest.mark.parametrize(("at", "begin", "size"), [(0, 0, 5), (3, 0, 2), (0, 3, 2), (-1, 0, 1), (0, -1, 1), (0, 0, -1)])
def test_a_copy_outside_of_its_arrays_is_refused(at: int, begin: int, size: int) -> None:
    out, data = np.zeros(4, np.uint8), np.arange(4, dtype=np.uint8)
    data.flags.writeable = False
    with pytest.raises(IndexError):
        kernel.copy_bytes(out, at, data, begin, size)
    assert not out.any()


def test_a_copy_copies() -> None:
    out, data = np.zeros(4, np.uint8), np.arange(4, dtype=np.uint8)
    data.flags.writeable = False
    kernel.copy_bytes(out, 1, data, 2, 2)
    assert out.tolist() == [0, 2, 3, 0]
