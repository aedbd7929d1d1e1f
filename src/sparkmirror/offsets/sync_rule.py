"""When an offset sync is due, by MirrorMaker 2's rule (`PartitionState` of its source task). Pure.

It asks of each record: is it the first that is heard of, does it stand `offset.lag.max` behind the last sync, is it
not the next one of the source, or not behind the last one of the target? Here a whole run is asked at once: within it
only the lag can be due, and of those the newest counts, as in MirrorMaker 2, where a newer one replaces what waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sparkmirror.topology.run import Run


class OffsetPair(NamedTuple):
    """The same record's offsets."""

    upstream: int
    downstream: int


@dataclass(slots=True)
class SyncRule:
    """One partition. `delayed`: the newest pair, if it was not due."""

    lag_max: int
    delayed: OffsetPair | None = None
    _last_sync: int | None = None
    _before: OffsetPair | None = None

    def take(self, run: Run) -> list[OffsetPair]:
        """The syncs that are due: where the run begins, where it is by now, or none."""
        first, last = OffsetPair(run.source, run.target), OffsetPair(run.source_end - 1, run.target_end - 1)
        due = []
        if self._is_break(first) or self._lags(first):
            due.append(first)
            self._last_sync = first.downstream
        if last != first and self._lags(last):
            due.append(last)
            self._last_sync = last.downstream
        self._before = last
        self.delayed = None if due and due[-1] == last else last
        return due

    def _is_break(self, pair: OffsetPair) -> bool:
        before = self._before
        return before is None or pair.upstream - before.upstream != 1 or pair.downstream < before.downstream

    def _lags(self, pair: OffsetPair) -> bool:
        return self._last_sync is None or pair.downstream - (self._last_sync + 1) >= self.lag_max
