"""Frames out of a socket that does not block: each is a size (int32) and so many bytes.

Small answers come several at a time: what the socket has is read into a buffer, and they are cut out of it. A frame
that the buffer is too small for is read to where it stays. How large a frame may be depends on what was asked: who
asks says it, before any memory is taken for it.
"""

from __future__ import annotations

import struct
from typing import Protocol

BUFFER_BYTES = 8 << 10
SHORTEST_FRAME_BYTES = 4  # the id of the request that it answers

_SIZE = struct.Struct(">i")


class Source(Protocol):
    """As a socket that does not block: to bring less than finds room means that no more is there."""

    def recv_into(self, view: memoryview, /) -> int: ...


class FrameSizeError(Exception):
    """A size that no answer has: whoever sent this speaks something else. `head`: the first bytes of it."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(size)
        self.size, self.head = size, head


def _make_frame(size: int) -> memoryview:
    """Not cleared: all of it is written over before anybody sees it."""
    import numpy as np  # noqa: PLC0415 - only who needs it loads it

    return np.empty(size, np.uint8).data


class Inbox:
    """The reading half of a connection."""

    def __init__(self, source: Source) -> None:
        self._socket = source
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._start = self._end = 0  # what has come and was not taken yet
        self._large: memoryview | None = None
        self._filled = 0
        self._is_empty = False  # the socket, as far as we know
        self._given = b""

    @property
    def missing(self) -> int:
        """How many bytes of a large frame are awaited; 0: none is."""
        return len(self._large) - self._filled if self._large is not None else 0

    @property
    def is_empty(self) -> bool:
        """Nothing was read that nobody has taken."""
        return self._large is None and self._start == self._end and not self._given

    def give_back(self, data: memoryview) -> None:
        """What somebody else has read from the socket comes next."""
        self._given = bytes(data)

    def wake(self) -> None:
        """The socket has something again."""
        self._is_empty = False

    def next_frame(self, most_bytes: int) -> memoryview | None:
        """The next whole frame; None: it is not here yet. Raises OSError, or EOFError if the other side hung up."""
        while self._large is None:
            size = self._announced(most_bytes)
            begin = self._start + _SIZE.size
            end = begin + size
            if size and end <= self._end:
                self._start = end
                return memoryview(bytearray(self._buffer[begin:end]))
            if size > BUFFER_BYTES - _SIZE.size:
                self._large = _make_frame(size)
                self._filled = self._end - begin
                self._large[: self._filled] = self._buffer[begin : self._end]
                self._start = self._end = 0
            elif not self._read_more():
                return None
        while self._filled < len(self._large):
            count = self._read_into(self._large[self._filled :])
            if not count:
                return None
            self._filled += count
        frame, self._large = self._large, None
        self._is_empty = False  # what came meanwhile stands behind it
        return frame

    def _announced(self, most_bytes: int) -> int:
        """The size of the frame that the buffer begins with; 0: it is not known yet."""
        if self._end - self._start < _SIZE.size:
            return 0
        size: int = _SIZE.unpack_from(self._buffer, self._start)[0]
        if not SHORTEST_FRAME_BYTES <= size <= most_bytes:
            raise FrameSizeError(size, bytes(self._buffer[self._start : self._end]))
        return size

    def _read_more(self) -> bool:
        """Into the buffer, behind what is there of a frame."""
        if self._is_empty:
            return False
        here = self._end - self._start
        if here and self._start:
            self._buffer[:here] = bytes(self._buffer[self._start : self._end])
        self._start, self._end = 0, here
        count = self._read_into(self._buffer[here:])
        self._end += count
        self._is_empty = count < BUFFER_BYTES - here
        return count > 0

    def _read_into(self, view: memoryview) -> int:
        """How many bytes came; 0: none for now."""
        if self._given:
            count = min(len(view), len(self._given))
            view[:count], self._given = self._given[:count], self._given[count:]
            return count
        try:
            count = self._socket.recv_into(view)
        except BlockingIOError:
            return 0
        if not count:
            raise EOFError
        return count
