"""Which chunks of a partition's offset map hold together, and in which order changed ones are written. Pure.

Chunks are records of their own, in any partition of the map's topic. So one may be missing, and one may be left over
from topics that were deleted and made anew since: a writer that died in between has replaced some and not the others.

    number    0      1      2      3      4      5
    topics    new    new    new    new    old    old       0..3 are the map of the new topics
    topics    none   none   none   ours   ours             brokers gave topics no ids before they were upgraded: 0..4
    topics    ours   -      ours   ours                    2..3: of what comes before them nothing is known
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkmirror.offsets.runs import Span


class Ids(NamedTuple):
    """Of the topics whose offsets these are; empty where brokers did not say."""

    source: str
    target: str

    def hold_for(self, later: Ids) -> bool:
        """Whether what was said of these topics was said of `later`: brokers that are upgraded begin to give ids."""
        return all(not then or then == now for then, now in zip(self, later, strict=True))

    def may_be(self, others: Ids) -> bool:
        """Whether nothing says that they are other topics."""
        return all(not a or not b or a == b for a, b in zip(self, others, strict=True))

    @property
    def known(self) -> int:
        return sum(map(bool, self))


class ChunkPlace(NamedTuple):
    """What a chunk covers, of which topics, and where its record stands."""

    ids: Ids
    span: Span
    partition: int
    offset: int


def find_chain(chunks: Mapping[int, ChunkPlace], ids: Ids) -> dict[int, ChunkPlace]:
    """The newest chunks of these topics, without a gap, in order; what is before the lowest is unknown unless it is 0.

    Once the ids are known they stand in every new chunk: one above these that does not have them is left over.
    """
    ours = {number: chunk for number, chunk in chunks.items() if chunk.ids.hold_for(ids)}
    known = max((chunk.ids.known for chunk in ours.values()), default=0)
    number = max((number for number, chunk in ours.items() if chunk.ids.known == known), default=-1)
    chain: dict[int, ChunkPlace] = {}
    while number in ours and (not chain or _precedes(ours[number].span, chain[number + 1].span)):
        chain[number] = ours[number]
        number -= 1
    return dict(sorted(chain.items()))


def _precedes(first: Span, second: Span) -> bool:
    return first.source < second.source and first.target < second.target


def order_changes(before: Mapping[int, Span], now: Mapping[int, Span | None]) -> list[int]:
    """Numbers of changed chunks (None: void), so that a run that goes over to a neighbour is always in one of both."""
    stretches: list[list[int]] = []
    for number in sorted(now):
        span = now[number]
        gives_away = number in before and (span is None or span.source > before[number].source)
        if gives_away and stretches:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return [number for stretch in reversed(stretches) for number in stretch]
