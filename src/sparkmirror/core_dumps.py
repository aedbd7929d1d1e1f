"""A core dump is all of a process's memory in a file: passwords, keys and tokens among it."""

from __future__ import annotations

import contextlib
import resource


def forbid_core_dumps() -> None:
    """For this process and all that it starts."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
