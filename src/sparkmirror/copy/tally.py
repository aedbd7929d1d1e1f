"""How many of our records a stretch of a target's log has held, told by their sequences. Pure.

    known          ... sequence 99 |
    the log holds                  | 100..119 | others' | (gone) | 150..159 |
    so 60 records were written since, whatever retention and compaction have left of them

Whatever was removed has left its offsets behind, which no batch covers. Where sequences jump by more than these, what
lies between was never there: a leader that has forgotten a producer takes a batch though it refused the one before.

Sequences count records, so a leader that says 79 has lost the last 20 of those that were known. They wrap at 2^31; no
stretch is half as long, so what seems to be ahead by more is behind.
"""

from __future__ import annotations

from sparkmirror.batch.header import BatchHeader
from sparkmirror.copy import facts
from sparkmirror.copy.queue import SEQUENCE_MASK
from sparkmirror.copy.tail import Batch
from sparkmirror.topology.run import GONE, Stretch

ALL = -(1 << 31)  # as `written`: nothing is left of what there was
_MOST_AHEAD = 1 << 30


def count_steps(earlier: int, later: int) -> int:
    """How many records one sequence is ahead of another; negative: behind it. -1 stands before the first."""
    ahead = (later - earlier) & SEQUENCE_MASK
    return ahead if ahead < _MOST_AHEAD else ahead - (SEQUENCE_MASK + 1)


class Tally:
    """Batches of one producer, added in the order of the log, and those of others, passed over.

    `last_sequence` None: it is not known what came before. `read_to`: up to there nothing else of it stands, and
    `absent` offsets behind its last batch hold no batch. The log begins at `log_start` and is read up to `readable`. Of
    the batches only the last one that holds records is kept, as evidence.
    """

    def __init__(
        self, last_sequence: int | None, log_start: int = 0, readable: int = 0, read_to: int = 0, absent: int = 0
    ) -> None:
        self.log_start, self.readable = log_start, readable
        self.read_to, self.absent = read_to, absent
        self.last_sequence = last_sequence
        self.written = 0  # records since; negative: so many of those before are missing
        self.end = -1  # of the last batch
        self.tail: Batch | None = None
        self.behind = 0  # records behind the tail that compaction has removed
        self.stretches: list[Stretch] = []

    @property
    def lost(self) -> int | None:
        """How many records are missing; None: not known."""
        return -self.written if self.written > ALL else None

    @property
    def may_pause(self) -> bool:
        """What was counted so far is a place that the target's records tell."""
        is_told = self.end < 0 or (self.tail is not None and not self.behind)
        return self.last_sequence is not None and self.written >= 0 and is_told

    def take_remembered(self, sequence: int) -> None:
        """No batch was found behind the known one; the leader says how far it was."""
        if self.last_sequence is not None:
            self.written = count_steps(self.last_sequence, sequence)
            self.last_sequence = sequence

    def pass_over(self, header: BatchHeader) -> None:
        self.absent += max(0, header.first - self.read_to)
        self.read_to = max(self.read_to, header.end)

    def add(self, batch: Batch) -> None:
        header = batch.header
        size = header.end - header.first
        step = self._step(header)
        self.pass_over(header)
        if self.last_sequence is not None and step - size > self.absent:
            raise facts.position_unknown(
                f"our records in the target's log go on at offset {header.first} with sequence {header.sequence} "
                f"behind {self.last_sequence}, and too few offsets are missing there: it never took what lies between"
            )
        self.absent = 0
        self.written += step
        self.behind += step
        self.last_sequence, self.end = header.last_sequence, header.end
        new = min(step, self.written)  # the others were known, and are here once more
        if new > size:
            self._stretch(GONE, new - size)
        if new > 0:
            self._stretch(header.end - min(size, new), min(size, new))
        if header.records:
            self.tail, self.behind = batch, 0

    def _step(self, header: BatchHeader) -> int:
        size = header.end - header.first
        last = self.last_sequence
        if last is None:
            return size
        begins_anew = header.sequence == 0 and last not in (-1, SEQUENCE_MASK)  # after it was forgotten
        return size if begins_anew else count_steps(last, header.last_sequence)

    def _stretch(self, first: int, size: int) -> None:
        if self.stretches and first != GONE and sum(self.stretches[-1]) == first:
            self.stretches[-1] = (self.stretches[-1][0], self.stretches[-1][1] + size)
        else:
            self.stretches.append((first, size))
