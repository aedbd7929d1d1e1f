"""How much memory a piece of work takes at its peak: what Python and numpy allocate."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def grown_bytes() -> Iterator[Callable[[], int]]:
    """Bytes at the peak, above what was there before; to be asked afterwards."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    peak = [0]
    try:
        yield lambda: peak[0]
    finally:
        peak[0] = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
