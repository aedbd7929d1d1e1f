"""Fetched frames come and go by the megabyte: a task keeps the memory of those that went for those that come.

Left to itself, glibc gives large pieces back to the system as soon as they are free, and gets them again page by page,
each of them cleared first.
"""

from __future__ import annotations

import ctypes
import functools

# Of malloc.h.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

KEPT_BYTES = 64 << 20
LARGEST_KEPT_BYTES = 32 << 20  # the most that glibc takes for it


@functools.cache
def keep_freed_memory() -> None:
    """For this process. Where the C library is another one, nothing changes."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, KEPT_BYTES)
        set_option(_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
