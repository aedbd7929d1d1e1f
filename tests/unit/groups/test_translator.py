"""A map that is written anew while offsets are looked up in it."""

from __future__ import annotations

import pytest

from sparkmirror.errors import MirrorError
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MAP_CHANGES, Answer, Bounds, MapReader, Translator
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import MAP_CHANGED
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.runs import Chunk, span_of
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

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
