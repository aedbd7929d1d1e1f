"""An operator's word on what stands still, while the flow runs: go on past a fact, or mirror a topic anew.

    accept     what stops a partition is accepted, once        the copy goes on as with the policy `continue`
    remirror   the target topic is deleted, and its loss       the driver makes it anew, and the copy begins at the
               accepted beforehand                             source's start

The word stands in the claim topic (`offsets/accepts.py`). The driver heeds it within seconds and removes it when the
partition has gone on, or stands still for something else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.progress_editor import choose_places
from sparkmirror.control.survey import find_leader, read_facts, read_progress, runs
from sparkmirror.control.who import who
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.errors import ConfigError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import delete_topic
from sparkmirror.offsets.accepts import Accepted
from sparkmirror.offsets.claims import read_claims, write_accepted
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
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
    """`fact`: what is known of the partition now. `is_heeded`: the driver, if there is one, has tried it."""

    place: Place
    fact: Fact | None
    is_running: bool
    is_heeded: bool

    @property
    def goes_on(self) -> bool:
        return self.is_running and self.is_heeded and not (self.fact and self.fact.kind == STOPPED)


@dataclass(frozen=True, slots=True)
class Lost:
    """Offsets `first..end` of a target partition that the source does not have; not `is_sure`: some of them."""

    place: Place
    first: int
    end: int
    is_sure: bool = True


class Acceptor:
    """One flow's. Blocking; connections are opened when first needed. `tell` is told what is waited for."""

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

    def _is_running(self) -> bool:
        leader, _ = find_leader(self._target, self._target.fetch_metadata(), self._flow)
        return runs(self._flow, leader)

    # -- accept

    def find(self, texts: Iterable[str]) -> dict[Place, Fact]:
        """What stops these partitions. ConfigError where nothing does, or nothing that can be accepted."""
        stopped = {place: fact for place, fact in self._read_facts().items() if fact.kind == STOPPED and place[1] >= 0}
        if not stopped:
            raise ConfigError(f"{self._flow.name}: no partition stands still")
        chosen = {place: stopped[place] for text in texts for place in choose_places(text, stopped)}
        for (topic, partition), fact in chosen.items():
            if fact.name not in MEANINGS:
                raise ConfigError(
                    f"{topic}-{partition} stands still for {fact.name}, which can't be accepted: {fact.error}"
                )
        return chosen

    def accept(self, facts: Mapping[Place, Fact], wait_s: float, tell: Tell) -> list[Outcome]:
        words = {place: self._word(fact.name) for place, fact in facts.items()}
        return self._order(words, lambda: None, wait_s, tell)

    # -- remirror

    def find_pair(self, topic: str) -> TopicPair:
        """ConfigError: it is not this flow's, or not its alone."""
        here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
        pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(self._flow)).pairs
        pair = next((pair for pair in pairs if pair.topic == topic), None)
        if pair is None:
            names = ", ".join(pair.topic for pair in pairs) or "none"
            raise ConfigError(f"{self._flow.name} mirrors no topic {topic} of {self._flow.source.alias}: {names}")
        if pair.is_shared:
            raise ConfigError(f"others are mirrored into {pair.remote}, too: it can't be deleted for {topic} alone")
        self._require_made(pair, there)
        return pair

    def _require_made(self, pair: TopicPair, there: Metadata) -> None:
        if pair.remote not in there.topics:
            return
        made = read_claims(self._target, self._storage).memory.made.get(pair.remote)
        if made is None or made.topic_id != format_topic_id(there.topics[pair.remote].topic_id):
            raise ConfigError(
                f"the mirror did not make {pair.remote}, so it does not delete it: delete it yourself if nobody needs "
                f"it, then sparkmirror accept {pair.topic}"
            )

    def find_lost(self, pair: TopicPair) -> list[Lost]:
        """What the target alone has, and would lose."""
        here, there = self._source.fetch_metadata([pair.topic]), self._target.fetch_metadata([pair.remote])
        numbers = range(min(pair.partitions, pair.present))
        ours = list_offsets(self._source, pick_leaders(here, [(pair.topic, n) for n in numbers]), EARLIEST)
        theirs = pick_leaders(there, [(pair.remote, n) for n in numbers])
        starts, ends = list_offsets(self._target, theirs, EARLIEST), list_offsets(self._target, theirs, LATEST)
        progress = read_progress(self._target, self._target.fetch_metadata(), self._flow)
        source_id = format_topic_id(here.topics[pair.topic].topic_id)
        lost = []
        for number in numbers:
            place, remote = (pair.topic, number), (pair.remote, number)
            known = progress.get(place)
            start, end = starts.get(remote, 0), ends.get(remote, 0)
            is_other = known is not None and known.source_id not in ("", source_id)
            is_sure = is_other or known is None or not known.translated
            has_all = not is_other and ours.get(place, end) == 0
            until = end if is_other or not is_sure else min(end, ours.get(place, end))
            if start < until and not has_all:
                lost.append(Lost(place, start, until, is_sure))
        return lost

    def remirror(self, pair: TopicPair, wait_s: float, tell: Tell) -> list[Outcome]:
        there = self._target.fetch_metadata([pair.remote])
        if pair.remote not in there.topics:
            raise ConfigError(f"{pair.remote} is not there: the mirror makes it by itself")
        topic_id = format_topic_id(there.topics[pair.remote].topic_id)
        places = [(pair.topic, number) for number in range(max(pair.partitions, pair.present))]
        words = dict.fromkeys(places, self._word(RECREATED, topic_id))
        return self._order(words, lambda: delete_topic(self._target, pair.remote, topic_id), wait_s, tell)

    # -- both

    def _word(self, fact: str, target_id: str = "") -> Accepted:
        return Accepted(fact, who(), int(time.time() * 1000), target_id)

    def _order(
        self, words: Mapping[Place, Accepted], act: Callable[[], None], wait_s: float, tell: Tell
    ) -> list[Outcome]:
        """Say it, act upon it, and wait until the driver has. What it does not heed in time is taken back."""
        is_running = self._is_running()
        write_accepted(self._target, self._storage, words)
        left = set(words)
        try:
            act()
            left = self._await(words, wait_s, tell) if is_running else set()
        finally:
            if left:
                write_accepted(self._target, self._storage, dict.fromkeys(left))
        facts = self._read_facts()
        return [
            Outcome(place, facts.get(place), is_running=is_running, is_heeded=place not in left)
            for place in sorted(words)
        ]

    def _await(self, words: Mapping[Place, Accepted], wait_s: float, tell: Tell) -> set[Place]:
        """Those that the driver has not gone on with."""
        until = time.monotonic() + wait_s
        claims = read_claims(self._target, self._storage)
        while left := words.keys() & claims.accepted.keys():
            tell(f"{self._flow.name}: the driver has still to go on with {len(left)} of {len(words)} partitions")
            if time.monotonic() >= until:
                return set(left)
            time.sleep(LOOK_EVERY_S)  # the topic can only be asked again
            claims.refresh()
        return set()

    def _read_facts(self) -> dict[Place, Fact]:
        return read_facts(self._target, self._target.fetch_metadata(), self._flow)
