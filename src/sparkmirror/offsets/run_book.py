"""The runs of one partition as they are written: the newest in memory, older ones in chunks that are full. Pure.

Runs come in order, but not quite: a receipt may be late, and after a crash some are told once more. So a run is put
where it belongs, and what is known already is left out. One that contradicts what is known says that the source was
cut back and goes on differently: what can't be true beside it is void. What stands behind it on both sides can: it was
told earlier than a receipt that came late.

    chunks   0 (full)  1 (full)  2 (open: in memory)
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Iterator

from sparkmirror.offsets.runs import CHUNK_RUNS, Chunk, Span, encode_chunk, span_of
from sparkmirror.topology.run import Run


class RunBook:
    """`load` brings the chunk of a number back. Changes are collected until `take_changes`.

    `first`: the number of the first chunk, if there are none.
    """

    def __init__(self, load: Callable[[int], Chunk], full: dict[int, Span] | None = None, first: int = 0) -> None:
        self._load = load
        self.full = dict(full or {})
        self._number = max(self.full, default=first - 1) + 1
        self._sources, self._targets, self._counts = array("q"), array("q"), array("q")
        self._changed = False
        self._void: set[int] = set()  # numbers that are written and shall not be any more
        if self.full:
            self._reopen()

    def __len__(self) -> int:
        return len(self._sources)

    def runs(self) -> Iterator[Run]:
        """Of the open chunk."""
        yield from map(Run._make, zip(self._sources, self._targets, self._counts, strict=True))

    def add(self, run: Run) -> None:
        while self.full and (not self._sources or run.source < self._sources[0]):
            self._reopen()
        for piece in self._unknown_parts(run):
            self._insert(piece)

    def _unknown_parts(self, run: Run) -> list[Run]:
        """What of the run is not known yet. If it contradicts what is, all from there on is forgotten first."""
        parts = []
        source, shift = run.source, run.target - run.source
        for index in range(max(0, bisect.bisect_right(self._sources, source) - 1), len(self)):
            known = Run(self._sources[index], self._targets[index], self._counts[index])
            if known.source >= run.source_end:
                break
            if known.source_end <= source:
                continue
            if known.target - known.source != shift:
                return self._contradicted(run)
            if known.source > source:
                parts.append(Run(source, source + shift, known.source - source))
            source = max(source, known.source_end)
        if source < run.source_end:
            parts.append(Run(source, source + shift, run.source_end - source))
        return parts if all(self._fits(part) for part in parts) else self._contradicted(run)

    def _fits(self, part: Run) -> bool:
        """The target's offsets are in the order of the source's."""
        index = bisect.bisect_left(self._sources, part.source)
        after_before = index == 0 or self._targets[index - 1] + self._counts[index - 1] <= part.target
        return after_before and (index == len(self) or part.target_end <= self._targets[index])

    def _contradicted(self, run: Run) -> list[Run]:
        while True:
            kept = [part for known in self.runs() for part in _beside(known, run)]
            if not self.full or (kept and kept[0].source < run.source):
                break
            self._reopen()
        self._sources = array("q", [part.source for part in kept])
        self._targets = array("q", [part.target for part in kept])
        self._counts = array("q", [part.length for part in kept])
        self._changed = True
        return [run]

    def _insert(self, run: Run) -> None:
        self._changed = True
        index = bisect.bisect_left(self._sources, run.source)
        if index and Run(self._sources[index - 1], self._targets[index - 1], self._counts[index - 1]).goes_on_with(run):
            index -= 1
            self._counts[index] += run.length
        else:
            self._sources.insert(index, run.source)
            self._targets.insert(index, run.target)
            self._counts.insert(index, run.length)
        if index + 1 < len(self):
            here = Run(self._sources[index], self._targets[index], self._counts[index])
            if here.goes_on_with(Run(self._sources[index + 1], self._targets[index + 1], 0)):
                self._counts[index] += self._counts[index + 1]
                for column in (self._sources, self._targets, self._counts):
                    del column[index + 1]

    def _reopen(self) -> None:
        """Take the last full chunk into memory again, before what is there."""
        if self._sources:
            self._void.add(self._number)
            self._changed = True
        self._number = max(self.full)
        del self.full[self._number]
        chunk = self._load(self._number)
        self._sources = array("q", chunk.source.tolist()) + self._sources
        self._targets = array("q", chunk.target.tolist()) + self._targets
        self._counts = array("q", chunk.count.tolist()) + self._counts

    def prune(self, target: int) -> None:
        """Full chunks of what the target's log does not hold any more."""
        gone = [number for number, span in self.full.items() if span.target_end <= target]
        for number in gone:
            del self.full[number]
        self._void.update(gone)

    def take_changes(self) -> dict[int, bytes | None]:
        """What is to be written, by the number of the chunk; None: it is void. Chunks that are full are closed."""
        changes: dict[int, bytes | None] = {}
        if self._changed:
            self._changed = False
            while len(self) > CHUNK_RUNS:
                chunk = self._open_chunk(CHUNK_RUNS)
                changes[self._number] = encode_chunk(chunk)
                self.full[self._number] = span_of(chunk)
                for column in (self._sources, self._targets, self._counts):
                    del column[:CHUNK_RUNS]
                self._number += 1
            changes[self._number] = encode_chunk(self._open_chunk(len(self))) if self._sources else None
        void = {number: None for number in self._void if number not in changes}
        self._void.clear()
        return changes | void

    def _open_chunk(self, size: int) -> Chunk:
        return Chunk.of(Run(self._sources[i], self._targets[i], self._counts[i]) for i in range(size))


def _beside(known: Run, run: Run) -> list[Run]:
    """What of a known run stands before another one on both sides, and behind it on both."""
    before = min(known.length, run.source - known.source, run.target - known.target)
    behind = max(0, run.source_end - known.source, run.target_end - known.target)
    parts = (known._replace(length=before), Run(known.source + behind, known.target + behind, known.length - behind))
    return [part for part in parts if part.length > 0]
