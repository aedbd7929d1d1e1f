"""Reads log files that another process writes: new lines as they come, or the end for an error message."""

from __future__ import annotations

from pathlib import Path

TAIL_BYTES = 4096


class LogFollower:
    """Gives each whole line once. Begins at the present end, so that a restart does not see old lines.

    Reads a file that is not rolled over meanwhile: what it looks for comes within the first megabytes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0
        self._pending = ""

    def read_lines(self) -> list[str]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        self._position += len(data)
        *lines, self._pending = (self._pending + data.decode(errors="replace")).split("\n")
        return lines


def read_tail(*paths: Path, lines: int = 20) -> str:
    """The last lines of the first of `paths` that has any."""
    for path in paths:
        if path.exists() and path.stat().st_size:
            text = path.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
            return f"The end of {path}:\n" + "\n".join(text.splitlines()[-lines:])
    return "It wrote no log."
