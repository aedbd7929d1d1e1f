"""A map of which nothing is left says so, unless there was nothing to write down."""

from __future__ import annotations

from typing import cast

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

PLACE = ("orders", 0)


def empty_map(standing: Standing) -> OffsetMap:
    return OffsetMapTopic(cast(Cluster, None), Storage.named("a")).map_of(PLACE, standing)


def test_offsets_before_the_first_record_that_was_copied_are_that_records() -> None:
    found = empty_map(Standing(50, target_end=0, translated="offsets.preserve is never"))
    assert found.to_target(7) == found.to_target(50) == Translated(0)


def test_equal_offsets_stay_known_without_a_map() -> None:
    found = empty_map(Standing(50, target_end=50, translated="a hole is too large", equal_end=50))
    assert found.to_target(49) == Translated(49) and found.to_target(50) == Translated(50)


def test_a_map_that_was_lost_is_not_made_up_for() -> None:
    found = empty_map(Standing(50, target_end=40, translated="offsets.preserve is never"))
    assert found.to_target(7) is None and found.to_source(7) is None
    assert found.to_target(50) == Translated(40)
