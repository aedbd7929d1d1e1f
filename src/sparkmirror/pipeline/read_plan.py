"""Decides how far a micro-batch reads: offsets by topic and partition, in Spark's Kafka source's own JSON."""

from __future__ import annotations

from collections.abc import Mapping

from sparkmirror.pipeline.record_options import Offsets

Place = tuple[str, int]


def to_json(offsets: Mapping[Place, int]) -> Offsets:
    found: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: Offsets) -> dict[Place, int]:
    return {(topic, int(p)): offset for topic, partitions in offsets.items() for p, offset in partitions.items()}


def plan_ends(begins: Mapping[Place, int], latest: Mapping[Place, int], most: int | None) -> dict[Place, int]:
    """Where the next micro-batch ends: at the latest offsets, or after `most` offsets, shared by lag.

    A partition that is gone, or whose log was cut back, stays where it is. Each one with a lag moves by one at least.
    """
    lags = {place: max(0, end - begins[place]) for place, end in latest.items() if place in begins}
    total = sum(lags.values())
    ends = dict(begins)
    for place, lag in lags.items():
        share = lag if most is None or total <= most else max(1, lag * most // total)
        ends[place] = begins[place] + min(lag, share)
    return ends
