"""Collects what is wrong or doubtful in a file, so that one run shows everything instead of the first."""

from __future__ import annotations

from sparkmirror.errors import ConfigError


def at_line(name: str, line: int | None, message: str) -> str:
    """`FILE:LINE: message`, the form that editors and terminals turn into a link."""
    return f"{name}: {message}" if line is None else f"{name}:{line}: {message}"


class Findings:
    """Errors and warnings of one file; a value that several flows read is reported once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._errors: dict[tuple[int, str], None] = {}
        self._warnings: dict[tuple[int, str], None] = {}

    def error(self, line: int | None, message: str) -> None:
        self._errors[line or 0, message] = None

    def warn(self, line: int | None, message: str) -> None:
        self._warnings[line or 0, message] = None

    @property
    def errors(self) -> tuple[str, ...]:
        return self._in_order(self._errors)

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._in_order(self._warnings)

    def raise_if_any(self) -> None:
        if self._errors:
            raise ConfigError("\n".join(self.errors))

    def _in_order(self, found: dict[tuple[int, str], None]) -> tuple[str, ...]:
        ordered = sorted(found, key=lambda finding: finding[0])
        return tuple(at_line(self.name, line or None, message) for line, message in ordered)
