"""Where offsets of a flow's source stand on its target: progress, offset map and ends of both clusters, asked together.

    topic of the source                       becomes                    by
    orders (mirrored)                         a.orders on the target     this flow's map
    b.orders (mirrored from the target)       orders on the target       the other flow's map, read backwards

Where offsets are equal nothing but the target's ends is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sparkmirror.groups.names import Names
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated, equal_map
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]


class Answer(NamedTuple):
    """`found` None: `why`."""

    place: Place
    found: Translated | None
    why: str = ""


class MapReader:
    """One flow's progress and map, read on from where they were read last."""

    def __init__(self, cluster: Cluster, storage: Storage) -> None:
        self._progress = ProgressTopic(cluster, storage)
        self._maps = OffsetMapTopic(cluster, storage)
        self._standings: dict[Place, Standing] = {}

    def refresh(self) -> None:
        self._standings = self._progress.read_on()
        if any(standing.translated for standing in self._standings.values()):
            self._maps.read()

    def standing(self, place: Place) -> Standing | None:
        return self._standings.get(place)

    def map_of(self, place: Place, standing: Standing) -> OffsetMap:
        return self._maps.map_of(place, standing)


class Translator:
    """`forward`: this flow's, on the target. `backward`: the other way's, on the source, if there is one."""

    def __init__(self, target: Cluster, names: Names, forward: MapReader, backward: MapReader | None) -> None:
        self._target = target
        self._names = names
        self._forward = forward
        self._backward = backward
        self._ends: dict[Place, int] = {}

    def look(self, places: Iterable[Place]) -> None:
        """Ask for the ends of all that will be asked for, at once."""
        self._ends = self._fetch_ends({remote for place in places if (remote := self._names.target_place(place))})

    def end(self, remote: Place) -> int | None:
        """Where the target's log ends, if it was looked for and is there."""
        return self._ends.get(remote)

    def translate(self, place: Place, offset: int) -> Answer | None:
        """None: its topic is not mirrored."""
        remote = self._names.target_place(place)
        if remote is None:
            return None
        end = self._ends.get(remote)
        if end is None:
            return Answer(remote, None, f"{remote[0]}-{remote[1]} can't be read on the target")
        if place[0] in self._names.origin:
            return self._answer_backward(place, remote, offset, end)
        standing = self._forward.standing(place)
        if standing is None or standing.target_end < 0:
            return Answer(remote, None, "nothing of it was mirrored yet")
        found = equal_map(end) if not standing.translated else self._forward.map_of(place, standing)
        return _at_most(remote, found.to_target(offset), end)

    def _answer_backward(self, place: Place, remote: Place, offset: int, end: int) -> Answer:
        standing = self._backward.standing(remote) if self._backward else None
        if self._backward is None or standing is None or standing.target_end < 0:
            return Answer(remote, None, "the flow that mirrors it has written down nothing")
        found = equal_map(end) if not standing.translated else self._backward.map_of(remote, standing)
        return _at_most(remote, found.to_source(offset), end)

    def _fetch_ends(self, places: set[Place]) -> dict[Place, int]:
        topics = self._target.fetch_metadata(sorted({topic for topic, _ in places})).topics if places else {}
        leaders: dict[Place, Leader] = {
            (topic, partition): topics[topic].leaders[partition]
            for topic, partition in places
            if topic in topics and partition in topics[topic].leaders
        }
        return list_offsets(self._target, leaders, LATEST)


def _at_most(remote: Place, found: Translated | None, end: int) -> Answer:
    """Never past the end of the log: a consumer would be reset there."""
    if found is None:
        return Answer(remote, None, "MirrorMaker 2 copied that part, and left no exact offsets")
    return Answer(remote, found if found.offset <= end else Translated(end, is_exact=False))
