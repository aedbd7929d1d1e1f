"""A run's temporary folder: Spark's log and the queries' checkpoints. Nothing in it is needed to go on."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "sparkmirror-run-"
_NAME = re.compile(rf"{PREFIX}[1-9][0-9]{{0,8}}-", re.ASCII)


def make_workspace() -> Path:
    """A new folder that names its process, after removing those of processes that were killed."""
    root = Path(tempfile.gettempdir())
    for stale in root.glob(f"{PREFIX}*"):
        if _is_ours(stale) and not _is_alive(stale):
            shutil.rmtree(stale, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))


def _is_ours(folder: Path) -> bool:
    """Everybody may make names in a folder that all share."""
    try:
        found = folder.lstat()
    except OSError:  # another run has swept it up
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and bool(_NAME.match(folder.name))


def _is_alive(folder: Path) -> bool:
    pid = folder.name.removeprefix(PREFIX).partition("-")[0]
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
