"""That a flow is halted until somebody lets it go on: a record in its claim topic, which every driver heeds.

    key    {"halt":"a"}
    value  {"by":"ops@host1","why":"failover","since_ms":1769853600000}
    value  none                                                             <- it goes on

A halt is known by its record's offset. Leader records repeat the one that holds, with `at_rest` once nothing of the
flow is under way and its progress is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Halt:
    """`by`: who did it, as user@host. `why`: with which command."""

    number: int
    by: str
    why: str
    since_ms: int

    def to_value(self) -> dict[str, object]:
        return {"by": self.by, "why": self.why, "since_ms": self.since_ms}

    def to_repeat(self) -> dict[str, object]:
        """As leader records have it."""
        return {"number": self.number} | self.to_value()


def parse_halt(value: object, number: object) -> Halt | None:
    """None: nothing is halted."""
    match value:
        case {"by": str(by), "why": str(why), "since_ms": int(since_ms)} if isinstance(number, int):
            return Halt(number, by, why, since_ms)
    return None


def parse_repeat(value: Mapping[str, Any]) -> Halt | None:
    """The halt that a leader record repeats."""
    repeated = value.get("halt")
    return parse_halt(repeated, repeated.get("number")) if isinstance(repeated, dict) else None
