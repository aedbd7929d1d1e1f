"""A run's temporary folder: Spark's log and the queries' checkpoints. Nothing in it is needed to go on."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "sparkmirror-run-"


def make_workspace() -> Path:
    """A new folder that names its process, after removing those of processes that were killed."""
    root = Path(tempfile.gettempdir())
    for stale in root.glob(f"{PREFIX}*"):
        if not _is_alive(stale):
            shutil.rmtree(stale, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))


def _is_alive(folder: Path) -> bool:
    pid = folder.name.removeprefix(PREFIX).partition("-")[0]
    if not pid.isdigit():
        return True  # not one of ours
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
