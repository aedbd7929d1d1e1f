"""The offset map of one partition: exact in both directions, for every offset. Pure, but for loading chunks.

    below `equal_end`     offsets are equal
    from there on         runs, in chunks; only what each covers is held, the runs are loaded when asked for
    from `source_end` on  nothing was copied yet

    source   0 ........ equal_end | run | hole | run | source_end     beyond: not copied yet
    target   0 ........ equal_end | run | run  | target_end           beyond: the answer is target_end, never more

An offset that holds no record becomes the place of the next one, so nothing is read twice and nothing is missed.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sparkmirror.offsets.runs import Chunk, Span


class Translated(NamedTuple):
    """`is_exact` is False where the offset was not copied yet: then it is the end of what was."""

    offset: int
    is_exact: bool = True


class OffsetMap:
    """`spans` in order, and `load` for the runs of one. `source_end`: all before it was copied or holds no record.

    Without spans offsets are equal all along. `begins_known`: no part before the first run was copied by somebody else,
    or is not known any more.
    """

    def __init__(
        self,
        *,
        equal_end: int,
        source_end: int,
        target_end: int,
        spans: Sequence[Span] = (),
        load: Callable[[int], Chunk] | None = None,
        begins_known: bool = True,
    ) -> None:
        self.equal_end, self.source_end, self.target_end = equal_end, source_end, target_end
        self.begins_known = begins_known
        self._spans = spans
        self._load = load
        self._sources = [span.source for span in spans]
        self._targets = [span.target for span in spans]

    @property
    def first_known(self) -> tuple[int, int]:
        """The first offsets on both sides from which on all is known."""
        if self.begins_known:
            return 0, 0
        return (self._sources[0], self._targets[0]) if self._spans else (self.source_end, self.target_end)

    def is_behind_runs(self, target: int) -> bool:
        """Whether it was written before the end of all that was copied, and by others."""
        return bool(self._spans) and self._spans[-1].target_end <= target < self.target_end

    def to_target(self, source: int) -> Translated | None:
        """None: it can't be known."""
        if source >= self.source_end:
            return Translated(self.target_end, is_exact=source == self.source_end)
        if source < self.equal_end:
            return Translated(source)
        if self._is_unknown(source, self._sources):
            return None
        index = _place(self._sources, source)
        if index is None:
            return Translated(self._first_target())
        if source >= self._spans[index].source_end:
            return Translated(self._next_of(self._targets, index, self._spans[-1].target_end))
        return Translated(self._chunk(index).to_target(source))

    def to_source(self, target: int) -> Translated | None:
        if target >= self.target_end:
            return Translated(self.source_end, is_exact=target == self.target_end)
        if target < self.equal_end:
            return Translated(target)
        if self._is_unknown(target, self._targets):
            return None
        index = _place(self._targets, target)
        if index is None:
            return Translated(self._sources[0] if self._spans else self.source_end)
        if target >= self._spans[index].target_end:
            return Translated(self._next_of(self._sources, index, self._spans[-1].source_end))
        return Translated(self._chunk(index).to_source(target))

    def _next_of(self, firsts: Sequence[int], index: int, end: int) -> int:
        """Behind the last run there are only holes and what others wrote; if not, nothing is missed from its end on."""
        return firsts[index + 1] if index + 1 < len(firsts) else end

    def _first_target(self) -> int:
        return self._targets[0] if self._spans else self.target_end

    def _is_unknown(self, offset: int, firsts: Sequence[int]) -> bool:
        return not self.begins_known and (not firsts or offset < firsts[0])

    def _chunk(self, index: int) -> Chunk:
        assert self._load is not None
        return self._load(index)


def equal_map(end: int) -> OffsetMap:
    """Offsets are equal, and all before `end` was copied."""
    return OffsetMap(equal_end=end, source_end=end, target_end=end)


def _place(firsts: Sequence[int], offset: int) -> int | None:
    index = bisect.bisect_right(firsts, offset) - 1
    return index if index >= 0 else None
