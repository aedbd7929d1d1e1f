"""Where a partition stands: what a lease leaves to the next, and what the progress topic keeps."""

from __future__ import annotations

from typing import NamedTuple

AS_SET = -2  # as a target_end
OTHERS = -1  # as an equal_end


class Standing(NamedTuple):
    """All source offsets before `next_offset` are in the target, whose log ended at `target_end` then.

    Believed only if the target's leader says the same. What its writer did not know is -1 or empty: a MirrorMaker 2
    writes `next_offset` alone. `target_end` AS_SET: an operator has set it, and no more than it is known.

    `log_start`: where the target's log shall begin. `translated`: why offsets differ from the source's; empty
    where they are equal. `source_epoch`: the source leader's, when it took the newest record that was copied. The ids
    are those of the topics that all this was said of.

    `equal_end`: where offsets are translated, those before it are still equal; OTHERS: where what comes
    before the map's first record stands is not known, since somebody else copied it or an earlier map was lost.

    `searched_end`: where others write, too, their records alone stand between `target_end` and it, and `searched_gap`
    offsets there hold none any more; so it was in `searched_epoch` of the target's leader.

    A sink's standing counts rows in place of source offsets, and says which micro-batch of which query wrote last, and
    with which row that one began.
    """

    next_offset: int
    last_sequence: int = -1
    target_end: int = -1
    source_epoch: int = -1
    log_start: int = 0
    translated: str = ""
    source_id: str = ""
    target_id: str = ""
    batch: int = -1
    batch_first: int = -1
    query: str = ""
    equal_end: int = 0
    searched_end: int = -1
    searched_gap: int = 0
    searched_epoch: int = -1

    @property
    def is_set(self) -> bool:
        return self.target_end == AS_SET
