"""Collects what is wrong with a file, so that one run shows every mistake instead of the first."""

from __future__ import annotations

from sparkmirror.errors import ConfigError


def at_line(name: str, line: int | None, message: str) -> str:
    """`FILE:LINE: message`, the form that editors and terminals turn into a link."""
    return f"{name}: {message}" if line is None else f"{name}:{line}: {message}"


class Problems:
    """Mistakes of one file; a value that several flows read is reported once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: dict[tuple[int, str], None] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, line: int | None, message: str) -> None:
        self._found[(line or 0, message)] = None

    def raise_if_any(self) -> None:
        if not self._found:
            return
        ordered = sorted(self._found, key=lambda problem: problem[0])
        raise ConfigError("\n".join(at_line(self._name, line or None, text) for line, text in ordered))
