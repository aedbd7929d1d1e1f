"""What both logs' ends and progress show by themselves, before a task has looked. Pure.

source   |---------------| end, asked after the target's
target   |-------------------|
                         ^ equal offsets, so nothing of ours can stand here
"""

from __future__ import annotations

from sparkmirror.copy import facts
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing


def has_shrunk(target_end: int, progress: Standing | None) -> bool:
    """The target's log lost its end, or is another one: the next task finds out which."""
    return progress is not None and 0 <= target_end < progress.target_end


def find_evident(
    topics: tuple[str, str], source_high: int | None, target_end: int | None, progress: Standing | None
) -> Fact | None:
    """`topics`: the source's and its remote one, with equal offsets so far. The fact that the next task will meet."""
    if progress is None or progress.translated or progress.target_end < 0:
        return None
    if source_high is None or target_end is None or target_end <= source_high:
        return None
    if source_high < progress.next_offset:
        found = facts.source_truncated(topics[0], progress.next_offset, source_high)
    else:
        found = facts.foreign_writer(topics[1], progress.target_end, target_end)
    return Fact(kind=STOPPED, name=found.name, error=str(found))
