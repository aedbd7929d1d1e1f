"""What the source of a partition has and its target lacks, by the newest that is known of each side. Pure.

    source   |------------------------------|  its end, as last heard: it does not shrink while nobody can be asked
    target   |------------------|              where the copy stands: what tasks told, and the log's end as last heard

The two sides are heard at different times, and while one is away only the other moves. So a lag is never made of one
answer alone, and where a side was never heard there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkmirror.copy.facts import SOURCE_RECREATED
from sparkmirror.copy.receipt import STOPPED, WAITING
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.standing import Standing

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a partition's logs end: what of the source is to be copied, its high watermark, the target's."""

    source: int
    source_high: int
    target: int
    copied: int | None = None  # the source offset that comes next, where the target's end does not say it

    @property
    def measured(self) -> int:
        """The source offset that comes next, by the logs' ends alone."""
        return self.target if self.copied is None else self.copied

    @property
    def highs(self) -> tuple[int, int]:
        """The source's high watermark and the target's end."""
        return self.source_high, self.target

    @property
    def lag(self) -> int:
        return max(0, self.source - self.measured)


def find_stand(end: Ends, told: Standing | None, fact: Fact | None) -> int:
    """The source offset that comes next. `told`: what the copy said last.

    What stands in the target of a partition that stopped, or behind what the source has, need not be ours; and it may
    be less than was told. While it waits for the target, the log's end is older than what was told.
    """
    if told is None:
        return end.measured
    if told.target_end < 0:  # a MirrorMaker 2 or an operator told it, and the target's offsets are their own
        return told.next_offset
    if fact and fact.name == SOURCE_RECREATED:  # of the topic that is there now nothing was copied
        return 0
    kind = fact.kind if fact else ""
    if kind == STOPPED or (not told.translated and end.target > end.source_high):
        return min(end.measured, told.next_offset)
    return told.next_offset if kind == WAITING else max(end.measured, told.next_offset)


def find_lag(end: Ends, told: Standing | None, fact: Fact | None) -> int:
    return max(0, end.source - find_stand(end, told, fact))


def last_known(lag: int, *, is_deaf: bool) -> int | None:
    """`is_deaf`: the source can't be asked. What waited then still waits; that nothing does is not known."""
    return None if is_deaf and lag == 0 else lag


def merge_ends(known: Mapping[Place, Ends], fresh: Mapping[Place, Ends]) -> dict[Place, Ends]:
    """What could not be asked this time is as it was."""
    return {**known, **fresh}


def move_sources(
    known: Mapping[Place, Ends], stable: Mapping[Place, int], high: Mapping[Place, int]
) -> dict[Place, Ends]:
    """The source alone was heard."""
    return {
        place: replace(end, source=stable[place], source_high=high[place]) if place in stable and place in high else end
        for place, end in known.items()
    }


def sum_lags(lags: Sequence[int | None]) -> int | None:
    """None where it is not known that nothing is missing."""
    known = [lag for lag in lags if lag is not None]
    return None if len(known) < len(lags) and not sum(known) else sum(known)


def count_missing(
    ends: Mapping[Place, Ends], told: Mapping[Place, Standing], facts: Mapping[Place, Fact]
) -> dict[Place, int]:
    """Records that a consumer of the target would miss, those of open transactions among them."""
    return {
        place: find_lag(end, told.get(place), facts.get(place)) + end.source_high - end.source
        for place, end in ends.items()
        if not looks_like_heartbeats(place[0])
    }
