"""Where an offset stands on the other side, and what keeps it from being told; maps that are written meanwhile."""

from __future__ import annotations

import pytest

from sparkmirror.errors import MirrorError
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MAP_CHANGES, Answer, Bounds, MapReader, Translator, _find_forth
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import MAP_CHANGED
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.runs import Chunk, span_of
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]

PLACE = ("t", 0)
STANDING = Standing(100, 99, 90, translated="holes")
CHUNK = Chunk.of([Run(10, 0, 90)])


class Rewritten:
    """A map's topic whose chunks are gone so many times when they are fetched."""

    def __init__(self, times: int) -> None:
        self.times, self.reads = times, 0

    def read(self) -> None:
        self.reads += 1

    def map_of(self, place: tuple[str, int], standing: Standing) -> OffsetMap:
        return OffsetMap(equal_end=0, source_end=100, target_end=90, spans=[span_of(CHUNK)], load=self._load)

    def _load(self, _: int) -> Chunk:
        if self.times:
            self.times -= 1
            raise MirrorError(MAP_CHANGED, "the offset map was written anew while it was read: try again")
        return CHUNK


def ask(topic: Rewritten) -> Answer | None:
    with Cluster(ClusterAddress(alias="B", bootstrap=("127.0.0.1:1",))) as target:
        forward = MapReader(target, Storage.named("A"))
        forward._topic, forward._standings = topic, {PLACE: STANDING}  # type: ignore[assignment]
        translator = Translator(target, target, Names({"t": "A.t"}, {}, {}), forward, None)
        translator._there = {("A.t", 0): Bounds(0, 90)}
        return translator.translate(PLACE, 55)


@pytest.mark.parametrize("times", [0, 1, MAP_CHANGES])
def test_it_is_read_again(times: int) -> None:
    topic = Rewritten(times)
    assert ask(topic) == Answer(("A.t", 0), Translated(45))
    assert topic.reads == times


def test_one_that_never_stands_still_is_that_partitions_trouble_alone() -> None:
    answer = ask(Rewritten(1000))
    assert answer and answer.found is None and "written anew" in answer.why


def answer(offset: int, standing: Standing, names: Names, here: Bounds, there: Bounds, place: Place = PLACE) -> Answer:
    """Of logs with these bounds; what is known of the partition stands on the side where it was written."""
    with Cluster(ClusterAddress(alias="B", bootstrap=("127.0.0.1:1",))) as nowhere:
        maps = MapReader(nowhere, Storage.named("A"))
        maps._standings = {("t", 0): standing}
        translator = Translator(nowhere, nowhere, names, maps, maps)
        remote = names.target_place(place)
        assert remote is not None
        translator._here, translator._there = {place: here}, {remote: there}
        found = translator.translate(place, offset)
        assert found is not None
        return found


EQUAL = Standing(100, 99, 100)
FORTH, BACK = Names({"t": "A.t"}, {}, {}), Names({}, {"A.t": "t"}, {})


@pytest.mark.parametrize(
    ("offset", "here", "there", "found"),
    [
        (50, Bounds(0, 100), Bounds(0, 100), Translated(50)),
        (50, Bounds(0, 100), Bounds(70, 100), Translated(70)),
        (50, Bounds(0, 100), Bounds(0, 30), Translated(30, is_exact=False)),
        (120, Bounds(0, 120), Bounds(0, 100), Translated(100, is_exact=False)),
        (121, Bounds(0, 120), Bounds(0, 100), None),  # of a topic that was deleted, or a log that was cut
    ],
)
def test_an_offset_is_never_put_outside_of_the_log(
    offset: int, here: Bounds, there: Bounds, found: Translated | None
) -> None:
    assert answer(offset, EQUAL, FORTH, here, there).found == found


@pytest.mark.parametrize(
    ("offset", "here", "there", "found"),
    [
        (80, Bounds(70, 100), Bounds(0, 100), Translated(80)),
        (70, Bounds(70, 100), Bounds(0, 100), None),  # the mirror puts groups there that have read less
        (60, Bounds(70, 100), Bounds(0, 100), None),
        (70, Bounds(70, 100), Bounds(70, 100), Translated(70)),
        (0, Bounds(0, 100), Bounds(0, 100), Translated(0)),
    ],
)
def test_on_the_way_back_who_stands_at_a_log_s_start_has_not_read_what_was_removed(
    offset: int, here: Bounds, there: Bounds, found: Translated | None
) -> None:
    assert answer(offset, EQUAL, BACK, here, there, ("A.t", 0)).found == found


def test_what_other_clusters_may_write_into_has_no_place_for_a_group_of_one() -> None:
    found = answer(50, EQUAL, Names({"t": "t"}, {}, {"t": 1}, ["t"]), Bounds(0, 100), Bounds(0, 100))
    assert found.found is None and "other clusters" in found.why


def test_what_is_before_all_that_is_known_is_no_matter_where_the_log_has_lost_it() -> None:
    known = OffsetMap(
        equal_end=0, source_end=100, target_end=90, spans=[span_of(CHUNK)], load=lambda _: CHUNK, begins_known=False
    )
    assert _find_forth(known, 5, 0) == Translated(0)
    later = Chunk.of([Run(50, 40, 50)])
    known = OffsetMap(
        equal_end=0, source_end=100, target_end=90, spans=[span_of(later)], load=lambda _: later, begins_known=False
    )
    assert [_find_forth(known, 5, start) for start in (0, 39, 40, 60)] == [None, None, Translated(40), Translated(60)]
