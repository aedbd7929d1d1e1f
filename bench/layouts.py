"""Kinds of steady traffic, and the topics that they go to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RECORD_BYTES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`listened`: so many partitions are read on the target. `in_turn`: each partition gets as many records as the
    others, else the producer decides."""

    name: str
    records_s: int
    listened: int = 1
    in_turn: bool = False

    @property
    def megabytes_s(self) -> float:
        return self.records_s * RECORD_BYTES / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A topic of so many partitions, and what comes one after the other while a mirror copies it."""

    partitions: int
    warm_up: Traffic
    traffic: tuple[Traffic, ...]


def _rate(name: str, megabytes_s: int, listened: int = 1) -> Traffic:
    return Traffic(name=name, records_s=megabytes_s * 1_000_000 // RECORD_BYTES, listened=listened)


_WARM_UP = _rate("warm-up", 20)
LAYOUTS: Mapping[str, Layout] = {
    "steady": Layout(
        partitions=8,
        warm_up=_WARM_UP,
        traffic=(Traffic(name="idle", records_s=0), *(_rate(f"{n} MB/s", n) for n in (1, 5, 20, 50))),
    ),
    "wide": Layout(partitions=80, warm_up=_WARM_UP, traffic=(_rate("20 MB/s, 80 partitions", 20, listened=8),)),
    "trickle": Layout(
        partitions=100,
        warm_up=_WARM_UP,
        traffic=(
            Traffic(name="idle, 100 partitions", records_s=0),
            Traffic(name="1 record/s in each of 100", records_s=100, listened=100, in_turn=True),
        ),
    ),
}
