"""A disk of a cluster's own that can be filled: a tmpfs in a mount namespace, so that nobody else sees it.

Where that needs rights which this process has not, folders are plain ones, and the kinds that fill disks are left out.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MB = 1 << 20
DISK_MB = 400  # for a broker
BALLAST = "ballast"
_NEW_NAMESPACE, _RECURSIVE, _PRIVATE, _DETACH = 0x20000, 0x4000, 1 << 18, 2


@cache
def why_no_disk() -> str:
    """Nothing if there can be one. From the first call on this thread, and all that it starts, has its own mounts."""
    if os.geteuid() != 0:
        return "a small disk takes root, to mount a tmpfs in a namespace"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NAMESPACE) or libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None):
        return f"no mount namespace: {os.strerror(ctypes.get_errno())}"
    return ""


@contextlib.contextmanager
def small_disk(folder: Path, brokers: int) -> Iterator[Path]:
    folder.mkdir()
    if why_no_disk():
        yield folder
        return
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={DISK_MB * brokers}m".encode()
    if libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, options):
        raise OSError(ctypes.get_errno(), "mount of a tmpfs")
    try:
        yield folder
    finally:
        libc.umount2(str(folder).encode(), _DETACH)


def fill(folder: Path) -> None:
    """Until not one byte is left."""
    with (folder / BALLAST).open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (MB, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


def empty(folder: Path) -> None:
    (folder / BALLAST).unlink(missing_ok=True)
