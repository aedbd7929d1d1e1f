"""One side of a comparison: a stream of stretches with a place in it, to look ahead from and to go on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparkmirror.batch.compare import (
    AFTER,
    BAD,
    CONTENT,
    IS_FIXED,
    LOOK_COLUMNS,
    OFFSET,
    POSITION,
    RECORD,
    SECTION,
    TIMESTAMP,
    Numbers,
    look,
)
from sparkmirror.errors import ProtocolError
from sparkmirror.verify.stretch import Stretch


class SeenRecord(NamedTuple):
    """`content`: key, value and headers as they are encoded. `timestamp` None: the target's broker gave it its own."""

    offset: int
    timestamp: int | None
    content: bytes
    producer_id: int = -1


class Side:
    """The records with offsets in `first..end` of what `stretches` bring, which are taken when they are needed."""

    def __init__(self, stretches: Iterable[Stretch], first: int, end: int, *, is_target: bool = False) -> None:
        self._is_target = is_target
        self.first, self.end = first, end
        self._coming = iter(stretches)
        self._here: deque[Stretch] = deque()

    def current(self) -> Stretch | None:
        """The stretch to compare next; None: there is none left."""
        if not self._here and (coming := next(self._coming, None)) is not None:
            self._here.append(coming)
        return self._here[0] if self._here else None

    def drop(self) -> None:
        """All of the current stretch is compared."""
        self._here.popleft()

    def peek(self, records: int, most_bytes: int) -> list[SeenRecord]:
        """The next records, as many as wanted or as are left; fewer, but two at least, where they are large."""
        seen: list[SeenRecord] = []
        size = index = 0
        found = np.empty(LOOK_COLUMNS, np.int64)
        while len(seen) < records and (size < most_bytes or len(seen) < 2):
            if index == len(self._here):
                coming = next(self._coming, None)
                if coming is None:
                    break
                self._here.append(coming)
            stretch = self._here[index].unpack()
            at = stretch.at.copy()
            while len(seen) < records and (size < most_bytes or len(seen) < 2) and self._look(stretch, at, found):
                seen.append(self._seen(stretch, at, found))
                size += len(seen[-1].content)
                at[POSITION] = found[AFTER]
            index += 1
        return seen

    def skip(self, count: int) -> None:
        found = np.empty(LOOK_COLUMNS, np.int64)
        while count and (stretch := self.current()) is not None:
            while count and self._look(stretch.unpack(), stretch.at, found):
                stretch.at[POSITION] = found[AFTER]
                count -= 1
            if count:
                self.drop()

    def skip_others(self, end: int, producer_id: int | None) -> int:
        """Pass over what stands before `end`, up to a record of this producer; how many records that were."""
        passed = 0
        found = np.empty(LOOK_COLUMNS, np.int64)
        while (stretch := self.current()) is not None:
            while self._look(stretch.unpack(), stretch.at, found):
                if found[OFFSET] >= end or stretch.producers[stretch.at[SECTION]] == producer_id:
                    return passed
                stretch.at[POSITION] = found[AFTER]
                passed += 1
            self.drop()
        return passed

    def _look(self, stretch: Stretch, at: Numbers, found: Numbers) -> bool:
        answer = look(stretch.data, stretch.sections, at, self.first, self.end, found)
        if answer == BAD:
            raise ProtocolError(f"a batch between offsets {stretch.first} and {stretch.end - 1} can't be read")
        return answer == RECORD

    def _seen(self, stretch: Stretch, at: Numbers, found: Numbers) -> SeenRecord:
        content = stretch.data[found[CONTENT] : found[AFTER]].tobytes()
        timestamp = None if self._is_target and found[IS_FIXED] else int(found[TIMESTAMP])
        return SeenRecord(int(found[OFFSET]), timestamp, content, int(stretch.producers[at[SECTION]]))
