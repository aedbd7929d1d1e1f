"""What a consumer group sees next, wherever it goes on: the property of the whole system that this room is about.

A record is what a producer wrote once, whatever offset it has on either cluster. What a group has read are the records
before the places that it has committed itself; to commit an earlier place says that it wants those behind it again.

    skips     wherever the mirror puts a group, every record of the mirrored topic before that place has been read by
              the group, or stood before the place where the group was already, or is gone from that log
    repeats   no record behind that place has been read by the group, but what README and the guides say:

              merged      several partitions in one: it goes to the first of its places
              lagging     it has read more than was copied, or than progress tells of: it waits at the end of that
              away        the source can't be asked: what it has read there since its last checkpoint
              named       the report says why it could not be put where it belongs (any row that is not `is_well`)
              left        no move at all: it has members there, has been used there, or was reset and `rewind` is off

Records of a topic that was deleted, and records that others wrote into a mirrored topic, are nobody's to miss. Where
nothing of the kind has happened to a partition, a report that names a trouble is one as well: `plain` places are to be
put exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from sparkmirror.control.switch_report import MoveRow, Report

Record = TypeVar("Record")
Place = tuple[str, int]


def find_skipped(log: Iterable[tuple[int, Record]], before: int, after: int, read: Container[Record]) -> list[Record]:
    """Records that a group at `before` does not see any more at `after`, and that it has not read."""
    return [record for offset, record in log if before <= offset < after and record not in read]


def find_repeated(log: Iterable[tuple[int, Record]], after: int, read: Container[Record]) -> list[Record]:
    """Records that a group sees from `after` on, and that it has read."""
    return [record for offset, record in log if offset >= after and record in read]


@dataclass
class Told:
    """What a report of a failover or failback says of one group."""

    rows: list[MoveRow] = field(default_factory=list)
    is_named: bool = False
    is_away: bool = False

    @classmethod
    def of(cls, report: Report, group: str) -> Told:
        rows = [row for row in report.moves if row.group == group]
        return cls(rows, group in report.not_moved or bool(report.problem), bool(report.away))

    def may_repeat(self, place: Place, merged: Collection[Place]) -> bool:
        """Whether README lets the group read again what stands behind this place."""
        here = [row for row in self.rows if row.target == place]
        is_well = bool(here) and all(row.is_well for row in here)
        return self.is_named or self.is_away or place in merged or not is_well
