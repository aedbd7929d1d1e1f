"""How far a flow's copy was behind when its leader last looked: a part of each leader record.

    {"at_ms":1769853600000,"lag":[["orders",0,12]],"more":0}

Partitions that are not named had nothing left to copy. It is there for the day on which the source can't be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_NAMED = 500  # partitions; leader records come every few seconds

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """`more`: what other partitions lack, together."""

    at_ms: int
    lag: Mapping[Place, int] = field(default_factory=dict)
    more: int = 0

    @classmethod
    def of(cls, at_ms: int, lag: Mapping[Place, int]) -> Seen:
        behind = sorted(((count, place) for place, count in lag.items() if count > 0), reverse=True)
        named = {place: count for count, place in behind[:MOST_NAMED]}
        return cls(at_ms, named, sum(count for count, _ in behind[MOST_NAMED:]))

    def to_value(self) -> dict[str, object]:
        return {"at_ms": self.at_ms, "lag": [[*place, count] for place, count in self.lag.items()], "more": self.more}


def parse_seen(value: object) -> Seen | None:
    match value:
        case {"at_ms": int(at_ms), "lag": list(rows), "more": int(more)}:
            return Seen(at_ms, dict(filter(None, map(_parse_row, rows))), more)
    return None


def _parse_row(row: object) -> tuple[Place, int] | None:
    match row:
        case [str(topic), int(partition), int(count)]:
            return (topic, partition), count
    return None
