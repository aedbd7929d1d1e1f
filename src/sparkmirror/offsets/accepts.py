"""That a partition may go on past what stops it, once: a record in its flow's claim topic, which every driver heeds.

    key    {"accept":["orders",0],"source":"a"}
    value  {"fact":"gap","since":"2026-01-31T10:00:00.000Z","by":"ops@host1"}      <- the fact that began then
    value  {"fact":"target-recreated","target_id":"5d…","by":"ops@host1"}          <- that topic was deleted for it
    value  none                                                                    <- it went on

A word is for one incident: another fact of the same name began later, and an id never comes again. Whoever leads
removes the word when the copy has gone past the fact, or the fact is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

STOPPED = "stopped"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """`fact`: by its name, with the time that it has `since`, or the `target_id` of a topic that is mirrored anew.

    `by`: who did it, as user@host.
    """

    fact: str
    by: str
    since: str = ""
    target_id: str = ""

    def holds(self, fact: Fact | None, standing: Standing | None) -> bool:
        """`fact`: what stops the partition now. `standing`: where it is."""
        if self.target_id:
            return standing is not None and standing.target_id == self.target_id
        return fact is not None and (fact.kind, fact.name, fact.since) == (STOPPED, self.fact, self.since)

    def to_value(self) -> dict[str, object]:
        said = {"fact": self.fact, "since": self.since, "target_id": self.target_id, "by": self.by}
        return {name: value for name, value in said.items() if value}


def accept_key(source: str, place: Place) -> dict[str, object]:
    return {"accept": list(place), "source": source}


def parse_accept_key(key: object, source: str) -> Place | None:
    """None for other records and other flows' ones."""
    match key:
        case {"accept": [str(topic), int(partition)], "source": str(of)} if of == source:
            return topic, partition
    return None


def parse_accepted(value: object) -> Accepted | None:
    """None: nothing is accepted."""
    match value:
        case {"fact": str(fact), "by": str(by), "since": str(since)}:
            return Accepted(fact=fact, by=by, since=since)
        case {"fact": str(fact), "by": str(by), "target_id": str(target_id)}:
            return Accepted(fact=fact, by=by, target_id=target_id)
    return None
