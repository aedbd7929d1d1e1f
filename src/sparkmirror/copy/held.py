"""The memory of what was fetched: whole buffers, however little of them is still needed.

    answer of a fetch   | batch of t-0 | batch of t-1 | batch of t-2 | ...
                                         ^ waits: so all of it stays in memory

A batch that is passed is a slice of the answer that it came with. Where all drains at once nothing has to be done.
Where one partition waits beside others that go on, each answer would stay for the sake of a small part of it: then the
small parts are moved out of the large buffers.
"""

from __future__ import annotations

import time
import weakref
from typing import Any, NamedTuple

import numpy as np

OLD_S = 0.25  # what drains at once is gone by then


class _Buffer(NamedTuple):
    live: weakref.ref[Any]
    size: int
    since: float


class Held:
    """`bytes`: the size of all buffers that a batch is still part of, that waits to be sent."""

    def __init__(self) -> None:
        self.bytes = 0
        self._buffers: dict[int, _Buffer] = {}  # by the id of the array

    def hold(self, batch: memoryview) -> memoryview:
        """Count the buffer that a batch is part of for as long as it lives; the batch to keep."""
        array: Any = batch.obj
        if id(array) in self._buffers:
            return batch
        if not isinstance(array, np.ndarray):  # nothing tells the end of others
            array = np.frombuffer(batch, np.uint8)
            batch = array.data
        key, size = id(array), array.nbytes

        def free(_: object) -> None:
            del self._buffers[key]
            self.bytes -= size

        self._buffers[key] = _Buffer(weakref.ref(array, free), size, time.monotonic())
        self.bytes += size
        return batch

    def move(self, batch: memoryview) -> memoryview:
        """The same in a buffer of its own."""
        return self.hold(np.array(batch, np.uint8).data)

    def find_sparse(self, used: dict[int, int], now: float) -> set[int]:
        """Buffers that have been there for a while, and of which less than half is `used`."""
        return {
            key
            for key, buffer in self._buffers.items()
            if now - buffer.since > OLD_S and 2 * used.get(key, 0) < buffer.size
        }
