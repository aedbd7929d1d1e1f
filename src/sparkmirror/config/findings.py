"""Collects what is wrong or doubtful in a file, so that one run shows everything instead of the first."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sparkmirror.errors import ConfigError

Kind = Literal["error", "warning"]


def at_line(name: str, line: int | None, message: str) -> str:
    """`FILE:LINE: message`, the form that editors and terminals turn into a link."""
    return f"{name}: {message}" if line is None else f"{name}:{line}: {message}"


class Finding(NamedTuple):
    """`line` is None for what is missing, and for the command line."""

    line: int | None
    kind: Kind
    message: str


class Findings:
    """Errors and warnings of one file; a value that several flows read is reported once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: dict[Finding, None] = {}

    def error(self, line: int | None, message: str) -> None:
        self._found[Finding(line, "error", message)] = None

    def warn(self, line: int | None, message: str) -> None:
        self._found[Finding(line, "warning", message)] = None

    def in_order(self) -> tuple[Finding, ...]:
        """By line, those without one first."""
        return tuple(sorted(self._found, key=lambda finding: finding.line or 0))

    @property
    def errors(self) -> tuple[str, ...]:
        return self._texts("error")

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._texts("warning")

    def raise_if_any(self) -> None:
        """ConfigError with every error."""
        if self.errors:
            raise ConfigError("\n".join(self.errors))

    def _texts(self, kind: Kind) -> tuple[str, ...]:
        return tuple(at_line(self.name, found.line, found.message) for found in self.in_order() if found.kind == kind)
