"""A deadline for several questions together: whatever a thread asks of brokers inside the block ends by then."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NamedTuple

from sparkmirror.errors import ConnectionLostError

API_TIMEOUT = "default.api.timeout.ms"
SETUP_TIMEOUT = "socket.connection.setup.timeout.ms"


class _Deadline(NamedTuple):
    until: float
    seconds: float
    key: str


_nearest: ContextVar[_Deadline | None] = ContextVar("nearest", default=None)


@contextlib.contextmanager
def deadline(seconds: float | None, key: str) -> Iterator[None]:
    """`key`: the setting that says so. Of several the nearest holds; None: no more than before."""
    wanted = None if seconds is None else _Deadline(time.monotonic() + seconds, seconds, key)
    token = _nearest.set(min(filter(None, (_nearest.get(), wanted)), default=None))
    try:
        yield
    finally:
        _nearest.reset(token)


def time_left(timeout_s: float) -> float:
    """So much of a wait is left."""
    nearest = _nearest.get()
    if nearest is None:
        return timeout_s
    left = nearest.until - time.monotonic()
    if left <= 0:
        raise ConnectionLostError(
            f"it was not done within {nearest.seconds:g} s ({nearest.key}): look at the brokers' load, or raise it"
        )
    return min(timeout_s, left)
