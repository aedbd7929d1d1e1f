"""Memory for large responses, used again and again.

A new buffer for each 16 MB fetch costs more than the copy out of the socket: the system has to find and clear its
pages. So a channel keeps a few. A buffer is free when nobody holds a view onto it any more, which its reference
count says: views onto a buffer hold it, whatever they were cut into since.
"""

from __future__ import annotations

import sys

SMALL_BYTES = 64 << 10
ROUND_BYTES = 1 << 20
MOST_BUFFERS = 6
# Held by the pool's list and by the call to `getrefcount` itself.
_FREE_REFERENCES = 2


class FramePool:
    """Buffers of one channel. Not for use from two threads at once."""

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """Memory for a response of `size` bytes; what it held before is overwritten by the reader."""
        if size <= SMALL_BYTES:
            return memoryview(bytearray(size))
        free = [i for i in range(len(self._buffers)) if sys.getrefcount(self._buffers[i]) == _FREE_REFERENCES]
        for i in free:
            if len(self._buffers[i]) >= size:
                return memoryview(self._buffers[i])[:size]
        fresh = bytearray(-(-size // ROUND_BYTES) * ROUND_BYTES)
        if free:
            self._buffers[free[0]] = fresh  # too small: responses grow with the lag
        elif len(self._buffers) < MOST_BUFFERS:
            self._buffers.append(fresh)
        return memoryview(fresh)[:size]
