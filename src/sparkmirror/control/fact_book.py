"""The facts of one flow: what the copy says of its partitions, and what the driver finds by looking.

Both can be true of one partition at once, so they stand on different shelves; who asks for one fact gets the worst.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from sparkmirror.control.discovery import Place
from sparkmirror.control.topic_facts import FOUND_BY_DRIVER
from sparkmirror.copy.facts import FLUSH_TIMEOUT, FOREIGN_WRITER, MISPLACED, RECORD_SKIPPED
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.topology.fact import WHOLE_FLOW, WHOLE_TOPIC, Fact, split_name

log = logging.getLogger("sparkmirror.ledger")

WORST_FIRST = (STOPPED, WAITING, NOTED)
_BROKER = re.compile(r"[\w.-]+:\d{1,5}\b")
_LEVELS = {STOPPED: logging.ERROR, WAITING: logging.WARNING, NOTED: logging.WARNING}


class Shelf:
    """Facts of one origin by place, and those of them that this driver has met itself."""

    def __init__(self) -> None:
        self.facts: dict[Place, Fact] = {}
        self.met: dict[Place, Fact] = {}

    def put(self, place: Place, fact: Fact, now: str) -> bool:
        """Whether it is news. It keeps its time while kind and name stay."""
        before, met = self.facts.get(place), self.met.get(place)
        if before and (before.kind, before.name) == (fact.kind, fact.name):
            fact = replace(fact, since=before.since)
        else:
            fact = replace(fact, since=fact.since or now)
        self.facts[place] = self.met[place] = fact
        return met is None or (met.kind, met.said) != (fact.kind, fact.said)

    def drop(self, place: Place) -> Fact | None:
        self.met.pop(place, None)
        return self.facts.pop(place, None)


class Waits:
    """What partitions wait for."""

    def __init__(self) -> None:
        self._causes: dict[Place, str] = {}
        self._counts: Counter[str] = Counter()

    def put(self, place: Place, cause: str) -> bool:
        """Whether others wait for the same; with an empty cause, whether others still do for what it waited for."""
        before = self._causes.pop(place, "")
        if before:
            self._counts[before] -= 1
        others = self._counts[cause or before] if cause or before else 0
        if cause:
            self._causes[place] = cause
            self._counts[cause] += 1
        return others > 0


class FactBook:
    """Not for use from two threads: the ledger has the lock."""

    def __init__(self, flow: str) -> None:
        self._flow = flow
        self._stops = Shelf()  # the copy stands still
        self._notes = Shelf()  # the copy went on all the same
        self._found = Shelf()  # the driver's own
        self._passed: set[Place] = set()
        self._waits = Waits()

    def begin_with(self, facts: Mapping[Place, Fact]) -> None:
        """What an earlier driver knew. It holds until this one knows better."""
        # The copy speaks of partitions only.
        found = {p: fact for p, fact in facts.items() if fact.name in FOUND_BY_DRIVER or p[1] == WHOLE_TOPIC}
        self._found.facts = found | self._found.facts
        ours = {place: fact for place, fact in facts.items() if place not in found}
        for shelf, kinds in ((self._stops, (STOPPED, WAITING)), (self._notes, (NOTED,))):
            shelf.facts = {place: fact for place, fact in ours.items() if fact.kind in kinds}
            shelf.met = {}

    def note_trouble(self, place: Place, kind: str, said: str, now: str) -> None:
        """The copy stopped or waits. What only passes has no name, but for acknowledgements that are late.

        Of partitions that wait for the same broker the first is said.
        """
        name, error = split_name(said) if kind == STOPPED or said.startswith(FLUSH_TIMEOUT) else ("", said)
        fact, before = Fact(kind=kind, name=name, error=error), self._stops.facts.get(place)
        if before and before.name == FOREIGN_WRITER and name in MISPLACED:
            fact = before  # what it has led to is not the cause
        is_news = self._stops.put(place, fact, now)
        if before and (before.kind, kind) == (STOPPED, WAITING):  # only what was copied ends a stop
            self._stops.facts[place] = before
        is_known = self._waits.put(place, _cause(error) if kind == WAITING else "")
        if is_news:
            level = logging.DEBUG if kind == WAITING and is_known else _LEVELS[kind]
            log.log(level, "flow %s: %s %s: %s", self._flow, place_text(place), kind, fact.said)

    def note_going_on(self, place: Place) -> None:
        """Of partitions that waited for the same broker the last is said."""
        others_wait = self._waits.put(place, "")
        if self._stops.drop(place):
            level = logging.DEBUG if others_wait else logging.INFO
            log.log(level, "flow %s: %s goes on", self._flow, place_text(place))

    def note_tolerated(self, place: Place, said: str, now: str) -> None:
        name, error = split_name(said)
        if self._notes.put(place, Fact(kind=NOTED, name=name, error=error), now):
            log.warning("flow %s: %s goes on in spite of %s", self._flow, place_text(place), said)

    def note_passed(self, place: Place, said: str) -> None:
        """Somebody wants it so: it is no fact any more."""
        self._passed.add(place)
        log.warning("flow %s: %s goes on, as was accepted, past %s", self._flow, place_text(place), said)

    def take_passed(self) -> set[Place]:
        passed, self._passed = self._passed, set()
        return passed

    def note_skipped(self, place: Place, said: str, now: str) -> None:
        """Records were left out. It is said once; how many, the figures say."""
        is_first = place not in self._notes.met
        self._notes.put(place, Fact(kind=NOTED, name=RECORD_SKIPPED, error=said), now)
        if is_first:
            log.warning("flow %s: %s goes on without some records: %s", self._flow, place_text(place), said)

    def say(self, place: Place, said: str) -> None:
        """For the log alone."""
        log.error("flow %s: %s: %s", self._flow, place_text(place), said)

    def note_found(self, facts: Mapping[Place, Fact], now: str) -> None:
        """All that the driver finds at the moment: what it does not name any more is over."""
        for place, fact in facts.items():
            if self._found.put(place, fact, now):
                log.log(_LEVELS[fact.kind], "flow %s: %s %s: %s", self._flow, place_text(place), fact.kind, fact.said)
        for place in self._found.facts.keys() - facts.keys():
            over = self._found.drop(place)
            if over:
                log.info("flow %s: %s: %s is over", self._flow, place_text(place), over.name)

    def retain(self, mirrored: Collection[Place]) -> None:
        """Facts of what is not mirrored any more are nobody's concern."""
        for shelf in (self._stops, self._notes, self._found):
            for place in shelf.facts.keys() - set(mirrored):
                shelf.drop(place)
                self._waits.put(place, "")

    def troubled(self) -> set[Place]:
        """Partitions of which the copy should say when all is well again."""
        return set(self._stops.facts)

    def stopped(self) -> set[Place]:
        """Partitions that the copy has given up under this driver."""
        return {place for place, fact in self._stops.met.items() if fact.kind == STOPPED}

    def worst(self) -> dict[Place, Fact]:
        """One fact a place."""
        worst: dict[Place, Fact] = {}
        for shelf in (self._notes, self._found, self._stops):
            for place, fact in shelf.facts.items():
                if place not in worst or _rank(fact) <= _rank(worst[place]):
                    worst[place] = fact
        return worst


def place_text(place: Place) -> str:
    topic, partition = place
    if place == WHOLE_FLOW:
        return "all topics"
    return f"topic {topic}" if partition == WHOLE_TOPIC else f"{topic}-{partition}"


def _cause(error: str) -> str:
    """The broker that a text is about; the whole of it if it names none."""
    found = _BROKER.search(error)
    return found.group() if found else error


def _rank(fact: Fact) -> int:
    """Unknown kinds, of a later version's topic, come last."""
    return WORST_FIRST.index(fact.kind) if fact.kind in WORST_FIRST else len(WORST_FIRST)
