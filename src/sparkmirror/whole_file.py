"""Files that are there whole or not at all: written beside their place under a name that nobody can know, then renamed.

A name that can be guessed could be made before, as a link to another file, by whoever may write to the folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: Path, *, lasts: bool = False) -> Iterator[BinaryIO]:
    """The file's next content; a reader sees the old one or all of the new. `lasts`: also after a loss of power."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            if lasts:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
