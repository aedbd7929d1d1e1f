"""Where offsets of a flow's source stand on its target: progress, offset map and bounds of both clusters' logs.

    topic of the source                       becomes                    by
    orders (mirrored)                         a.orders on the target     this flow's map
    b.orders (mirrored from the target)       orders on the target       the other flow's map, read backwards

They are asked in an order, so that what is said holds whatever happens meanwhile:

    1  ids of the topics        as in 4, or one was made anew in between; those of the source before its groups
    2  the target's bounds      before progress: that a partition is translated is written before anything is appended,
                                so one that is equal by 3 was equal up to here
       the source's bounds      a partition that is empty by then has nothing below the target's end
    3  progress, then the map   which never says less than progress
    4  ids again                those that progress names

Read backwards, equal offsets are equal up to where the copy went: what stands behind that came from somebody else, and
at the same offset the other side has other records. A topic that was made anew since it was mirrored has other offsets:
those are not translated.

A group whose place on the target comes before the source's log is put at that log's start by a failback, and with a
flow each way by each round back. So whether one that stands there has read all before is not told by its offset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from sparkmirror.errors import BrokerError, MirrorError
from sparkmirror.groups.names import Names
from sparkmirror.groups.rules import UNREAD
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.map_topic import MAP_CHANGED, OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.protocol import codes
from sparkmirror.topology.incarnation import TopicIds, why_another
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

MAP_CHANGES = 3  # that one question goes along with
MADE_ANEW = "the {} topic was deleted and made anew just now"
BEYOND_LOG = "it has committed offset {}, and the log ends at {}"
OTHERS = "flows from other clusters may write there, too, and where it stands in their records is not known"
BY_OTHERS = "a MirrorMaker 2 mirrored it so far, and exact offsets are known of what sparkmirror copies"
NOT_KNOWN = "no exact offsets of that part are known: MirrorMaker 2 copied it, or the offset map was lost"

Place = tuple[str, int]


class Bounds(NamedTuple):
    """Of a log."""

    start: int
    end: int


class Answer(NamedTuple):
    """`found` None: `why`. `at_start`: it stands where the source's log begins; `is_raised`: its place was before where
    the target's does.
    """

    place: Place
    found: Translated | None
    why: str = ""
    at_start: bool = False
    is_raised: bool = False


class MapReader:
    """One flow's progress and map, read on from where they were read last. Not `is_there`: nothing is written.

    `proven`: what both logs say of partitions, which is newer; or why nothing can be told of their offsets.
    """

    def __init__(
        self,
        cluster: Cluster,
        storage: Storage,
        proven: Mapping[Place, Standing | str] | None = None,
        *,
        is_there: bool = True,
    ) -> None:
        self._proven = proven
        self._is_there = is_there
        self._progress = ProgressTopic(cluster, storage)
        self._topic = OffsetMapTopic(cluster, storage)
        self._standings: dict[Place, Standing] = {}
        self._maps: dict[Place, OffsetMap] = {}
        self._denied = ""

    def refresh(self) -> None:
        if not self._is_there:
            return
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
    """`forward`: this flow's, on the target; `backward`: the other way's, on the source. None: it wrote nothing.

    `source` None: it can't be asked, so neither its logs nor its ids are known.
    """

    def __init__(
        self,
        source: Cluster | None,
        target: Cluster,
        names: Names,
        forward: MapReader | None,
        backward: MapReader | None,
    ) -> None:
        self._source, self._target = source, target
        self._names = names
        self._forward, self._backward = forward, backward
        self._here: dict[Place, Bounds] = {}
        self._there: dict[Place, Bounds] = {}
        self._source_ids: dict[str, str] = {}
        self._target_ids: dict[str, str] = {}
        self.origins: dict[
            Place, set[Place]
        ] = {}  # of places that are merged, the partitions that hold or held records
        self._anew: dict[str, str] = {}  # source topics of which one side has changed while it was looked at

    def look(self, places: Iterable[Place], known: Mapping[str, str] | None = None) -> None:
        """Ask all that will be asked for, at once, in the order above. `known`: ids of the source's topics, from
        before it was asked what groups have committed there.
        """
        remotes = {place: remote for place in places if (remote := self._names.target_place(place))}
        merged = self._find_merged({topic for topic, _ in remotes.values()})
        here, there = _Side(self._source, {*remotes, *merged}), _Side(self._target, remotes.values())
        self._there = there.fetch_bounds()
        self._here = here.fetch_bounds()
        for maps in dict.fromkeys((self._forward, self._backward)):
            if maps is not None:
                maps.refresh()
        self._source_ids, self._target_ids = here.fetch_ids(), there.fetch_ids()
        self._anew = {
            place[0]: MADE_ANEW.format(name)
            for place, remote in remotes.items()
            for name, side, ids, topic in (
                ("source", here, self._source_ids, place[0]),
                ("target", there, self._target_ids, remote[0]),
            )
            if side.ids.get(topic) != ids.get(topic)
        } | {
            place[0]: MADE_ANEW.format("source")
            for place in remotes
            if known is not None and known.get(place[0]) != self._source_ids.get(place[0])
        }
        self.origins = {}
        for place, remote in merged.items():
            is_same = here.ids.get(place[0]) == self._source_ids.get(place[0])
            if not is_same or place not in self._here or self._here[place].end > 0:
                self.origins.setdefault(remote, set()).add(place)

    @property
    def target_ids(self) -> Mapping[str, str]:
        """Of the target's topics that were looked for, as they were at last."""
        return self._target_ids

    @property
    def has_way_back(self) -> bool:
        """Whether a flow brings groups of the target back to the source."""
        return self._backward is not None

    def end(self, remote: Place) -> int | None:
        """Where the target's log ends, if it was looked for and is there."""
        return self._there[remote].end if remote in self._there else None

    def copied_id(self, place: Place) -> str:
        """The id of the source topic, if it is the one that was mirrored as progress has it; else empty."""
        standing = self._forward.standing(place) if self._forward and place[0] in self._names.remote else None
        now = self._source_ids.get(place[0], "")
        return now if standing and standing.source_id == now and place[0] not in self._anew else ""

    def _find_merged(self, remotes: Collection[str]) -> dict[Place, Place]:
        """All partitions that go into topics that several share, and where."""
        topics = [topic for topic in self._names.shares if self._names.remote.get(topic) in remotes]
        known = self._source.fetch_metadata(sorted(topics)).topics if self._source and topics else {}
        places = ((topic, partition) for topic in topics if topic in known for partition in known[topic].leaders)
        return {place: remote for place in places if (remote := self._names.target_place(place))}

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
        there = self._there.get(remote)
        if there is None:
            return lambda _: Answer(remote, None, f"{remote[0]}-{remote[1]} can't be read on the target")
        if place[0] in self._names.joined:
            return lambda _: Answer(remote, None, OTHERS)
        is_back = place[0] in self._names.origin
        maps, key = (self._backward, remote) if is_back else (self._forward, place)
        standing = maps.standing(key) if maps else None
        if maps is None or standing is None or standing.target_end < 0:
            return lambda offset: _without_progress(remote, offset, there.end, is_back=is_back)
        ids = (self._source_ids.get(place[0], ""), self._target_ids.get(remote[0], ""))
        why = why_another(standing, TopicIds(*(reversed(ids) if is_back else ids)))
        if why := f"{why} since it was mirrored" if why else self._anew.get(place[0], ""):
            return lambda _: Answer(remote, None, why)
        if why := maps.doubt(key):
            return lambda _: Answer(remote, None, why)
        copied = (standing.next_offset, standing.target_end)
        equal = copied[::-1] if is_back else copied if maps.is_proven else None
        here, find = self._here.get(place), _find_back if is_back else _find_forth
        if is_back and here is None:
            return lambda _: Answer(remote, None, f"{place[0]}-{place[1]} can't be read where it stands")

        def ask(offset: int) -> Answer:
            if here is not None and offset > here.end:
                return Answer(remote, None, BEYOND_LOG.format(offset, here.end))
            at_start = not is_back and here is not None and 0 < here.start >= offset
            if not standing.translated:
                answer = _within(remote, _equal(offset, equal), there, here, offset, is_back=is_back)
                return answer._replace(at_start=at_start)
            try:
                found = maps.ask(key, lambda known: find(known, offset, there.start))
            except MirrorError as error:
                return Answer(remote, None, str(error))
            answer = _within(remote, found, there, here, offset, is_back=is_back)
            return answer._replace(at_start=at_start)

        return ask


class _Side:
    """One cluster, some of its partitions, and the ids of their topics before they were asked for anything."""

    def __init__(self, cluster: Cluster | None, places: Iterable[Place]) -> None:
        self._cluster = cluster
        self._places = set(places)
        self._metadata = self._fetch()
        self.ids = topic_ids(self._metadata.topics.values()) if self._metadata else {}

    def _fetch(self) -> Metadata | None:
        if not self._cluster or not self._places:
            return None
        return self._cluster.fetch_metadata(sorted({topic for topic, _ in self._places}))

    def fetch_ids(self) -> dict[str, str]:
        metadata = self._fetch()
        return topic_ids(metadata.topics.values()) if metadata else {}

    def fetch_bounds(self) -> dict[Place, Bounds]:
        """Of those whose leaders answer."""
        if not self._cluster:
            return {}
        topics = self._metadata.topics if self._metadata else {}
        leaders = {
            (topic, partition): topics[topic].leaders[partition]
            for topic, partition in self._places
            if topic in topics and partition in topics[topic].leaders
        }
        starts, ends = (list_offsets(self._cluster, leaders, when) for when in (EARLIEST, LATEST))
        return {place: Bounds(starts[place], end) for place, end in ends.items() if place in starts}


def _find_forth(known: OffsetMap, offset: int, start: int) -> Translated | None:
    """What is before all that is known is no matter where the log has lost it."""
    found = known.to_target(offset)
    return Translated(start) if found is None and known.first_known[1] <= start else found


def _find_back(known: OffsetMap, offset: int, start: int) -> Translated | None:
    found = known.to_source(offset)
    return Translated(start) if found is None and known.first_known[0] <= start else found


def _without_progress(remote: Place, offset: int, end: int, *, is_back: bool) -> Answer:
    if offset == end == 0:  # an empty log, and all of it is still to be read
        return Answer(remote, Translated(0))
    if is_back:
        return Answer(remote, None, "the flow that mirrors it has written down nothing")
    return Answer(remote, None, BY_OTHERS if end else "nothing of it was mirrored yet")


def _equal(offset: int, bounds: tuple[int, int] | None) -> Translated:
    """`bounds`: where what was copied ends, on this side and on the other."""
    return Translated(offset) if bounds is None or offset <= bounds[0] else Translated(bounds[1], is_exact=False)


def _within(
    remote: Place, found: Translated | None, there: Bounds, here: Bounds | None, offset: int, *, is_back: bool
) -> Answer:
    """Neither past the end of the log nor before its start: a consumer would be reset there, and to the end if so set.

    On the way back a group that stands where its log begins is not taken for one that has read all before it: the
    mirror may have put it there, for what was removed.
    """
    if found is None:
        return Answer(remote, None, NOT_KNOWN)
    if is_back and here and 0 < here.start >= offset and found.offset > there.start:
        return Answer(remote, None, UNREAD)
    if found.offset > there.end:
        return Answer(remote, Translated(there.end, is_exact=False))
    is_raised = found.offset < there.start
    return Answer(remote, found._replace(offset=max(found.offset, there.start)), is_raised=is_raised)
