"""One line of the doctor's report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 3


class Level(StrEnum):
    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`about`: the machine, a cluster or a flow; `check`: what was looked at; `cure`: what helps, unless it passed."""

    level: Level
    about: str
    check: str
    said: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Words the verdicts of one check of one thing."""

    about: str
    check: str

    def passes(self, said: str) -> Verdict:
        return Verdict(level=Level.PASS, about=self.about, check=self.check, said=said)

    def warns(self, said: str, cure: str) -> Verdict:
        return Verdict(level=Level.WARN, about=self.about, check=self.check, said=said, cure=cure)

    def fails(self, said: str, cure: str) -> Verdict:
        return Verdict(level=Level.FAIL, about=self.about, check=self.check, said=said, cure=cure)

    def skips(self, said: str, cure: str) -> Verdict:
        return Verdict(level=Level.SKIP, about=self.about, check=self.check, said=said, cure=cure)

    def all_or(self, found: Iterable[Verdict], said: str) -> Iterator[Verdict]:
        """What was found, or that all is well."""
        found = list(found)
        yield from found or [self.passes(said)]


def some_of(names: Sequence[str]) -> str:
    """`a, b, c and 2 more`."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
