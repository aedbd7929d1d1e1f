"""An operator's word on what stands still, while the flow runs: go on past a fact, or mirror a topic anew.

    accept     what stops a partition is accepted, once        the copy goes on as with the policy `continue`
    remirror   the target topic is deleted, and its loss       the driver makes it anew, and the copy begins at the
               accepted                                        source's start

The word stands in the claim topic (`offsets/accepts.py`). The driver heeds it within seconds and removes it when the
partition has gone on, or stands still for something else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.progress_editor import choose_places
from sparkmirror.control.survey import find_leader, read_facts, read_progress, runs
from sparkmirror.control.who import who
from sparkmirror.copy.facts import ACCEPT
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.errors import ConfigError, ConnectionLostError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import delete_topic
from sparkmirror.offsets.accepts import Accepted
from sparkmirror.offsets.claims import read_claims, write_accepted
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

LOOK_EVERY_S = 0.3
RECREATED = "target-recreated"
_ANEW = "is mirrored from the source's start"
_TRANSLATED = "with translated offsets from there on"
# What becomes of a partition whose fact is accepted.
MEANINGS = {
    "gap": "goes on behind the records that were removed before they were copied: the target lacks them for good",
    "source-recreated": f"appends the new topic's records behind the old ones, {_TRANSLATED}",
    RECREATED: _ANEW,
    "target-wiped": _ANEW,
    "target-truncated": "copies the records again that the target lost",
    "source-truncated": f"goes on behind the cut, {_TRANSLATED}",
    "foreign-writer": f"goes on behind the foreign records, {_TRANSLATED}",
}

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`fact`: what is known of the partition now. `is_heeded`: the mirror has tried it."""

    place: Place
    fact: Fact | None
    is_heeded: bool

    @property
    def goes_on(self) -> bool:
        return self.is_heeded and not (self.fact and self.fact.kind == STOPPED)


@dataclass(frozen=True, slots=True)
class Copy:
    """A topic's copy that may be deleted: the mirror made the topic of this id, and nobody else writes into it."""

    pair: TopicPair
    topic_id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Offsets `first..end` of a target partition that the source does not have; not `is_sure`: some of them."""

    place: Place
    first: int
    end: int
    is_sure: bool = True


class Acceptor:
    """One flow's. Blocking; connections are opened when first needed. `tell` is told what is waited for.

    ConfigError: it can't be done so, or not here.
    """

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._storage = Storage.of(flow)
        self._source = Cluster(flow_address(flow.source, flow))
        self._target = Cluster(flow_address(flow.target, flow))

    def __enter__(self) -> Acceptor:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()
        self._target.close()

    def require_running(self) -> None:
        """A word that nobody heeds at once would be for what nobody has seen."""
        if self._flow.by_rows:
            raise ConfigError(f"{self._flow.name} takes the record way: set on.gap, on.recreate or on.divergence there")
        leader, halt = find_leader(self._target, self._target.fetch_metadata(), self._flow)
        if halt is not None:
            raise ConfigError(halt_text(self._flow.name, halt))
        if not runs(self._flow, leader):
            raise ConfigError(f"no mirror runs {self._flow.name}: start it first")

    # -- accept

    def find(self, texts: Iterable[str]) -> dict[Place, Fact]:
        """What stops these partitions."""
        facts = {place: fact for place, fact in self._read_facts().items() if place[1] >= 0}
        stopped = {place: fact for place, fact in facts.items() if fact.kind == STOPPED}
        if not stopped:
            raise ConfigError(f"{self._flow.name}: no partition stands still")
        known = {*facts, *self._read_progress()}
        chosen = [place for text in texts for place in choose_places(text, known)]
        for topic, partition in chosen:
            fact = stopped.get((topic, partition))
            if fact is None and len(chosen) == 1:
                raise ConfigError(f"{topic}-{partition} does not stand still")
            if fact and (fact.name not in MEANINGS or ACCEPT not in fact.error):
                raise ConfigError(
                    f"{topic}-{partition} stands still for {fact.name}, which can't be accepted: {fact.error}"
                )
        return {place: stopped[place] for place in chosen if place in stopped}

    def accept(self, facts: Mapping[Place, Fact], wait_s: float, tell: Tell) -> list[Outcome]:
        """What the mirror does not heed in time is taken back."""
        words = {place: Accepted(fact=fact.name, since=fact.since, by=who()) for place, fact in facts.items()}
        left = set(words)
        try:
            write_accepted(self._target, self._storage, words)
            left = self._await(words.keys(), wait_s, tell)
        finally:
            if left:
                write_accepted(self._target, self._storage, dict.fromkeys(left))
        return self._outcomes(words, left)

    # -- remirror

    def find_copy(self, topic: str) -> Copy:
        if self._flow.naming.is_mutual:
            raise ConfigError(f"{topic} has its own writers on both sides: neither side is a copy that can be deleted")
        here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
        selector = TopicSelector.of(self._flow)
        pairs = plan_topics(count_partitions(here), count_partitions(there), selector).pairs
        pair = next((pair for pair in pairs if pair.topic == topic), None)
        if pair is None:
            names = ", ".join(pair.topic for pair in pairs) or "none"
            raise ConfigError(f"{self._flow.name} mirrors no topic {topic} of {self._flow.source.alias}: {names}")
        if pair.remote not in there.topics:
            raise ConfigError(f"{pair.remote} is not there: the mirror makes it by itself")
        claims = read_claims(self._target, self._storage)
        merged = any(selector.remote_name(origin) == pair.remote for origin, _ in claims.claimed[1])
        topic_id = format_topic_id(there.topics[pair.remote].topic_id)
        if pair.is_shared or merged or claims.memory.holds_others(pair.remote, topic_id, topic):
            raise ConfigError(f"others are or were mirrored into {pair.remote}: it can't be deleted for {topic} alone")
        made = claims.memory.made.get(pair.remote)
        if not topic_id or made is None or made.topic_id != topic_id:
            raise ConfigError(
                f"it is not known that the mirror made {pair.remote}, so it does not delete it: delete it yourself if "
                f"nobody needs it, then sparkmirror accept {topic}"
            )
        self._require_found(topic)
        return Copy(pair, topic_id)

    def _require_found(self, topic: str) -> None:
        """A position that was set, or left by a MirrorMaker 2, would be begun with again."""
        for place, standing in self._read_progress().items():
            if place[0] == topic and standing.target_end < 0:
                raise ConfigError(
                    f"{topic}-{place[1]} has an offset that was set and not gone on from yet: see to that first "
                    "(sparkmirror offsets reset forgets it)"
                )

    def find_lost(self, copy: Copy) -> list[Lost]:
        """What the target alone has, and would lose. A cluster that does not say it is an error."""
        pair, progress = copy.pair, self._read_progress()
        here, there = self._source.fetch_metadata([pair.topic]), self._target.fetch_metadata([pair.remote])
        source_id = format_topic_id(here.topics[pair.topic].topic_id)
        sources = self._fetch_bounds(self._source, here, pair.topic, pair.partitions)
        targets = self._fetch_bounds(self._target, there, pair.remote, pair.present)
        return [
            lost
            for number, target in targets.items()
            for lost in find_lost((pair.topic, number), sources.get(number), target, progress, source_id)
        ]

    def _fetch_bounds(self, cluster: Cluster, metadata: Metadata, topic: str, count: int) -> dict[int, tuple[int, int]]:
        places = [(topic, number) for number in range(count)]
        leaders = pick_leaders(metadata, places)
        starts, ends = list_offsets(cluster, leaders, EARLIEST), list_offsets(cluster, leaders, LATEST)
        if unknown := [place for place in places if place not in starts or place not in ends]:
            raise ConnectionLostError(f"{unknown[0][0]}-{unknown[0][1]} does not say what it holds")
        return {number: (starts[topic, number], ends[topic, number]) for number in range(count)}

    def remirror(self, copy: Copy, wait_s: float, tell: Tell) -> list[Outcome]:
        """The topic goes by its id, then the word is said: whoever stops between the two leaves partitions that say
        themselves what became of them. The mirror makes the topic anew.
        """
        delete_topic(self._target, copy.pair.remote, copy.topic_id)
        words = {
            place: Accepted(fact=RECREATED, target_id=copy.topic_id, by=who())
            for place, standing in self._read_progress().items()
            if place[0] == copy.pair.topic and standing.target_id == copy.topic_id
        }
        write_accepted(self._target, self._storage, words)
        return self._outcomes(words, self._await(words.keys(), wait_s, tell))

    # -- both

    def _outcomes(self, places: Collection[Place], left: Collection[Place]) -> list[Outcome]:
        facts = self._read_facts()
        return [Outcome(place, facts.get(place), place not in left) for place in sorted(places)]

    def _await(self, places: Set[Place], wait_s: float, tell: Tell) -> set[Place]:
        """Those that the driver has not gone on with."""
        until = time.monotonic() + wait_s
        claims = read_claims(self._target, self._storage)
        while left := places & claims.accepted.keys():
            tell(f"{self._flow.name}: the mirror has still to go on with {len(left)} of {len(places)} partitions")
            if time.monotonic() >= until:
                return set(left)
            time.sleep(LOOK_EVERY_S)  # the topic can only be asked again
            claims.refresh()
        return set()

    def _read_facts(self) -> dict[Place, Fact]:
        return read_facts(self._target, self._target.fetch_metadata(), self._flow)

    def _read_progress(self) -> dict[Place, Standing]:
        return read_progress(self._target, self._target.fetch_metadata(), self._flow)


def find_lost(
    place: Place,
    source: tuple[int, int] | None,
    target: tuple[int, int],
    progress: Mapping[Place, Standing],
    source_id: str,
) -> Iterator[Lost]:
    """Of one partition, by what both logs hold. `source` None: it has no such partition."""
    (start, end), known = target, progress.get(place)
    if source is None or known is None or known.source_id not in ("", source_id):
        sure, unsure = [(start, end)], []
    elif known.translated:
        sure, unsure = [], [(start, end)]
    else:
        kept = max(start, min(source[0], end)), max(start, min(source[1], known.target_end, end))
        sure, unsure = [(start, kept[0]), (max(kept), end)], []
    yield from (Lost(place, *gone) for gone in sure if gone[0] < gone[1])
    yield from (Lost(place, *gone, is_sure=False) for gone in unsure if gone[0] < gone[1])
