"""The system's calls as compiled code makes them: sockets that do not block, a wait for several, a clock.

Each answers as C does, but for errors: these are the negative number of the error.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import numba
import numpy as np
from numba.core import types

from sparkmirror.batch.kernel import Bytes, kernel
from sparkmirror.copy.lane.table import Files, Table

IS_HERE = sys.platform == "linux" and sys.byteorder == "little"  # `SO_RCVLOWAT` works as we need it, and so do these
NOT_NOW = -11  # EAGAIN
INTERRUPTED = -4  # EINTR
READABLE, HUNG_UP = 1, 0x2000

_MONOTONIC = 1
_QUIETLY = 0x40 | 0x4000  # MSG_DONTWAIT, MSG_NOSIGNAL
_LEVEL, _LOW_WATER = socket.SOL_SOCKET, getattr(socket, "SO_RCVLOWAT", 18)

_types: Any = types
_carray: Any = numba.carray  # type: ignore[attr-defined]
_function = _types.ExternalFunction
_int = _types.int32
_recv = _function("recv", _types.intp(_int, _types.uintp, _types.uintp, _int))
_send = _function("send", _types.intp(_int, _types.uintp, _types.uintp, _int))
_poll = _function("poll", _int(_types.uintp, _types.uintp, _int))
_clock = _function("clock_gettime", _int(_int, _types.uintp))
_setsockopt = _function("setsockopt", _int(_int, _int, _int, _types.uintp, _types.uint32))
_errno = _function("__errno_location", _types.CPointer(_types.int32)())


@kernel
def _error() -> int:
    return -int(_carray(_errno(), 1)[0])


@kernel
def receive(fd: int, out: Bytes, at: int, size: int) -> int:
    """How many bytes came; 0: the other side has hung up."""
    if at < 0 or size < 0 or at + size > len(out):
        raise IndexError("a read outside of its array")
    count = _recv(np.int32(fd), np.uintp(out.ctypes.data + at), np.uintp(size), np.int32(_QUIETLY))
    return _error() if count < 0 else int(count)


@kernel
def send(fd: int, data: Bytes, at: int, size: int) -> int:
    """How many bytes the socket took."""
    if at < 0 or size < 0 or at + size > len(data):
        raise IndexError("a write outside of its array")
    count = _send(np.int32(fd), np.uintp(data.ctypes.data + at), np.uintp(size), np.int32(_QUIETLY))
    return _error() if count < 0 else int(count)


@kernel
def wait(files: Files, hangs: int, timeout_ms: int) -> int:
    """Until one of `files` (int32: descriptor, then what is wanted and, in its upper half, what is) is ready.

    The last but one, so many of them, are only waited for to hang up.
    """
    for i in range(len(files)):
        files[i, 1] = HUNG_UP if len(files) - 1 - hangs <= i < len(files) - 1 else READABLE
    return int(_poll(np.uintp(files.ctypes.data), np.uintp(len(files)), np.int32(timeout_ms)))


@kernel
def state_of(files: Files, index: int) -> int:
    return int(files[index, 1] >> 16) & 0xFFFF


@kernel
def now_ns(scratch: Table) -> int:
    """`time.monotonic_ns`."""
    _clock(np.int32(_MONOTONIC), np.uintp(scratch.ctypes.data))
    return int(scratch[0] * 1_000_000_000 + scratch[1])


@kernel
def wake_at(fd: int, count: int, scratch: Table) -> None:
    """Be readable only when so many bytes are here, or the other side has hung up."""
    scratch[0] = count
    _setsockopt(np.int32(fd), np.int32(_LEVEL), np.int32(_LOW_WATER), np.uintp(scratch.ctypes.data), np.uint32(4))
