"""Where offsets of a flow's source stand on its target: progress, offset map and ends of both clusters, asked together.

    topic of the source                       becomes                    by
    orders (mirrored)                         a.orders on the target     this flow's map
    b.orders (mirrored from the target)       orders on the target       the other flow's map, read backwards

Where offsets are equal nothing but the target's ends is needed. Read backwards, they are equal up to where the copy
went: what stands behind that came from somebody else, and at the same offset the other side has other records. A topic
that was made anew since it was mirrored has other offsets: those are not translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from sparkmirror.errors import BrokerError, MirrorError
from sparkmirror.groups.names import Names
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.map_topic import MAP_CHANGED, OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.protocol import codes
from sparkmirror.topology.incarnation import TopicIds, why_another
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

MAP_CHANGES = 3  # that one question goes along with
NOT_KNOWN = "no exact offsets of that part are known: MirrorMaker 2 copied it, or the offset map was lost"

Place = tuple[str, int]


class Answer(NamedTuple):
    """`found` None: `why`."""

    place: Place
    found: Translated | None
    why: str = ""


class MapReader:
    """One flow's progress and map, read on from where they were read last.

    `proven`: what both logs say of partitions, which is newer; or why nothing can be told of their offsets.
    """

    def __init__(
        self, cluster: Cluster, storage: Storage, proven: Mapping[Place, Standing | str] | None = None
    ) -> None:
        self._proven = proven
        self._progress = ProgressTopic(cluster, storage)
        self._topic = OffsetMapTopic(cluster, storage)
        self._standings: dict[Place, Standing] = {}
        self._maps: dict[Place, OffsetMap] = {}
        self._denied = ""

    def refresh(self) -> None:
        self._standings = self._progress.read_on()
        self._maps = {}
        self._denied = ""
        if any(standing.translated for standing in self._standings.values()):
            self._read_map()

    def _read_map(self) -> None:
        """Who may not is told so of what is translated; all else can be told without the map."""
        try:
            self._topic.read()
        except BrokerError as error:
            if error.code not in codes.FORBIDDEN:
                raise
            self._denied = str(error)

    def standing(self, place: Place) -> Standing | None:
        """Where offsets are translated the map says no more than progress does."""
        known, proven = self._standings.get(place), (self._proven or {}).get(place)
        is_newer = isinstance(proven, Standing) and not proven.translated and not (known and known.translated)
        return proven if is_newer and isinstance(proven, Standing) else known

    def doubt(self, place: Place) -> str:
        """Why offsets can't be translated, as both logs say it."""
        proven = (self._proven or {}).get(place)
        return proven if isinstance(proven, str) else ""

    @property
    def is_proven(self) -> bool:
        return self._proven is not None

    def ask(self, place: Place, question: Callable[[OffsetMap], Translated | None]) -> Translated | None:
        """Of a partition that is translated. A chunk that was written anew since it was found is looked for again."""
        if self._denied:
            raise MirrorError("unauthorized", self._denied)
        for _ in range(MAP_CHANGES):
            try:
                return question(self._map_of(place))
            except MirrorError as error:
                if error.name != MAP_CHANGED:
                    raise
                self._topic.read()
                self._maps = {}
        return question(self._map_of(place))

    def _map_of(self, place: Place) -> OffsetMap:
        if place not in self._maps:
            self._maps[place] = self._topic.map_of(place, self._standings[place])
        return self._maps[place]


class Translator:
    """`forward`: this flow's, on the target. `backward`: the other way's, on the source, if there is one.

    `ids`: of topics of the source, as far as they are known.
    """

    def __init__(
        self, target: Cluster, names: Names, forward: MapReader, backward: MapReader | None, ids: Mapping[str, str]
    ) -> None:
        self._ids, self._remote_ids = ids, dict[str, str]()
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

    def translate_all(self, offsets: Iterable[tuple[Place, int]]) -> dict[tuple[Place, int], Answer]:
        """Those whose topics are mirrored. In order, so that each chunk of a map is fetched once."""
        wanted: dict[Place, set[int]] = {}
        for place, offset in offsets:
            wanted.setdefault(place, set()).add(offset)
        return {
            (place, offset): answer(offset)
            for place, found in wanted.items()
            if (answer := self._answer_for(place)) is not None
            for offset in sorted(found)
        }

    def translate(self, place: Place, offset: int) -> Answer | None:
        """None: its topic is not mirrored."""
        answer = self._answer_for(place)
        return answer(offset) if answer else None

    def _answer_for(self, place: Place) -> Callable[[int], Answer] | None:
        """What answers for the offsets of one partition."""
        remote = self._names.target_place(place)
        if remote is None:
            return None
        end = self._ends.get(remote)
        if end is None:
            return lambda _: Answer(remote, None, f"{remote[0]}-{remote[1]} can't be read on the target")
        is_back = place[0] in self._names.origin
        maps, key = (self._backward, remote) if is_back else (self._forward, place)
        standing = maps.standing(key) if maps else None
        if maps is None or standing is None or standing.target_end < 0:
            return lambda offset: _without_progress(remote, offset, end, is_back=is_back)
        ids = (self._ids.get(place[0], ""), self._remote_ids.get(remote[0], ""))
        if why := why_another(standing, TopicIds(*(reversed(ids) if is_back else ids))):
            return lambda _: Answer(remote, None, f"{why} since it was mirrored")
        if why := maps.doubt(key):
            return lambda _: Answer(remote, None, why)
        if not standing.translated:
            copied = (standing.next_offset, standing.target_end)
            bounds = copied[::-1] if is_back else copied if maps.is_proven else None
            return lambda offset: _at_most(remote, _equal(offset, bounds), end)

        def ask(offset: int) -> Answer:
            try:
                found = maps.ask(key, lambda known: known.to_source(offset) if is_back else known.to_target(offset))
            except MirrorError as error:
                return Answer(remote, None, str(error))
            return _at_most(remote, found, end)

        return ask

    def _fetch_ends(self, places: set[Place]) -> dict[Place, int]:
        topics = self._target.fetch_metadata(sorted({topic for topic, _ in places})).topics if places else {}
        self._remote_ids = topic_ids(topics.values())
        leaders: dict[Place, Leader] = {
            (topic, partition): topics[topic].leaders[partition]
            for topic, partition in places
            if topic in topics and partition in topics[topic].leaders
        }
        return list_offsets(self._target, leaders, LATEST)


def _without_progress(remote: Place, offset: int, end: int, *, is_back: bool) -> Answer:
    if offset == end == 0:  # an empty log, and all of it is still to be read
        return Answer(remote, Translated(0))
    if is_back:
        return Answer(remote, None, "the flow that mirrors it has written down nothing")
    return Answer(remote, None, "nothing of it was mirrored yet")


def _equal(offset: int, bounds: tuple[int, int] | None) -> Translated:
    """`bounds`: where what was copied ends, on this side and on the other."""
    return Translated(offset) if bounds is None or offset <= bounds[0] else Translated(bounds[1], is_exact=False)


def _at_most(remote: Place, found: Translated | None, end: int) -> Answer:
    """Never past the end of the log: a consumer would be reset there."""
    if found is None:
        return Answer(remote, None, NOT_KNOWN)
    return Answer(remote, found if found.offset <= end else Translated(end, is_exact=False))
