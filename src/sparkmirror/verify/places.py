"""Which target offset a source offset has: the same, or what the offset map says."""

from __future__ import annotations

from typing import Protocol

from sparkmirror.offsets.offset_map import OffsetMap


class Places(Protocol):
    is_equal: bool  # every record has its source's offset
    producer_id: int | None  # the mirror's, where others may write between its records

    def expected(self, source: int) -> int | None:
        """Where the record of a source offset stands in the target; None: that is not known."""
        ...

    def source_of(self, target: int) -> int:
        """The source offset of the first of the mirror's records from a target offset on."""
        ...

    def next_ours(self, target: int) -> int | None:
        """None: the mirror has a record at this offset. Else where its next one stands, or would."""
        ...


class EqualPlaces:
    """Every record of the target is compared: nobody but the mirror writes there."""

    is_equal = True
    producer_id: int | None = None

    def expected(self, source: int) -> int | None:
        return source

    def source_of(self, target: int) -> int:
        return target

    def next_ours(self, target: int) -> int | None:
        return None


class MappedPlaces:
    """Others may have written between the mirror's records; the map leaves their offsets out."""

    is_equal = False

    def __init__(self, offset_map: OffsetMap, producer_id: int | None) -> None:
        self._map = offset_map
        self.producer_id = producer_id

    def expected(self, source: int) -> int | None:
        found = self._map.to_target(source)
        return found.offset if found else None

    def source_of(self, target: int) -> int:
        found = self._map.to_source(target)
        return found.offset if found else self._map.first_known[0]

    def next_ours(self, target: int) -> int | None:
        if self._map.is_behind_runs(target):
            return self._map.target_end
        back = self._map.to_source(target)
        forth = self._map.to_target(back.offset) if back else None
        return forth.offset if forth and forth.offset > target else None
