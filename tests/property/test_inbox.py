"""Whatever pieces a socket hands out, the same frames come out of it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.net.inbox import BUFFER_BYTES, FrameSizeError, Inbox

_SIZE = struct.Struct(">i")
MOST_BYTES = 1 << 20
_EDGE = BUFFER_BYTES - _SIZE.size
SIZES = st.one_of(st.integers(4, 200), st.integers(_EDGE - 2, _EDGE + 2), st.integers(4, 3 * BUFFER_BYTES))


def _frame(number: int, size: int) -> bytes:
    return bytes((number + i) % 251 for i in range(size))


def _take(inbox: Inbox) -> Iterator[memoryview]:
    inbox.wake()
    while (frame := inbox.next_frame(MOST_BYTES)) is not None:
        yield frame


@given(sizes=st.lists(SIZES, max_size=6), data=st.data())
def test_frames_come_out_as_they_went_in(sizes: list[int], data: st.DataObject) -> None:
    frames = [_frame(number, size) for number, size in enumerate(sizes)]
    stream = b"".join(_SIZE.pack(len(frame)) + frame for frame in frames)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20).map(sorted))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        inbox = Inbox(ours)
        found: list[memoryview] = []
        for start, end in pairwise([0, *cuts, len(stream)]):
            theirs.sendall(stream[start:end])
            found += _take(inbox)
            begun = len(stream[:end]) - sum(_SIZE.size + len(frame) for frame in found)
            whole = _SIZE.size + sizes[len(found)] if len(found) < len(sizes) else 0
            is_large = begun >= _SIZE.size and whole > BUFFER_BYTES
            assert inbox.missing == (whole - begun if is_large else 0)
    assert [bytes(frame) for frame in found] == frames


def test_a_frame_is_the_takers_own() -> None:
    """Batches are written over where they stand in it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        inbox = Inbox(ours)
        theirs.sendall(2 * (_SIZE.pack(5) + b"first"))
        first, second = _take(inbox)
        first[:] = b"other"
        theirs.sendall(_SIZE.pack(5) + b"third")
        (third,) = _take(inbox)
        assert [bytes(frame) for frame in (first, second, third)] == [b"other", b"first", b"third"]


@pytest.mark.parametrize("size", [-1, 0, 3, MOST_BYTES + 1])
def test_a_size_that_no_answer_has_is_refused_with_what_came(size: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(_SIZE.pack(size) + b"more")
        with pytest.raises(FrameSizeError) as caught:
            Inbox(ours).next_frame(MOST_BYTES)
        assert (caught.value.size, caught.value.head) == (size, _SIZE.pack(size) + b"more")


def test_whole_frames_are_taken_before_the_end_is_told() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        with theirs:
            theirs.sendall(_SIZE.pack(4) + b"last" + _SIZE.pack(9) + b"cut")
        inbox = Inbox(ours)
        assert [bytes(frame) for frame in _take(inbox)] == [b"last"]
        with pytest.raises(EOFError):
            list(_take(inbox))


class Source:
    """Brings a piece at each read, and what did not find room with the next."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.here = list(pieces), bytearray()

    def recv_into(self, view: memoryview) -> int:
        if self.pieces:
            self.here += self.pieces.pop(0)
        if not self.here:
            raise BlockingIOError
        count = min(len(view), len(self.here))
        view[:count] = self.here[:count]
        del self.here[:count]
        return count


def test_what_comes_while_a_large_frame_is_read_is_handed_out_with_it() -> None:
    """With TLS it is in memory then, where no selector sees it."""
    bodies = [bytes(3 * BUFFER_BYTES), b"the next answer"]
    whole = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    inbox = Inbox(Source(whole[:1000], whole[1000:]))
    assert [inbox.next_frame(MOST_BYTES) for _ in range(3)] == [*bodies, None]
