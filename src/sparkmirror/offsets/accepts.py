"""That a partition may go on past what stops it, once: a record in its flow's claim topic, which every driver heeds.

    key    {"accept":["orders",0],"source":"a"}
    value  {"fact":"gap","by":"ops@host1","since_ms":1769853600000}
    value  {"fact":"target-recreated","by":…,"since_ms":…,"target_id":"5d…"}     <- that topic is deleted for it
    value  none                                                                 <- it went on

Whoever leads removes the record when the fact is over, so that a later one of the same name stops the partition again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

STOPPED = "stopped"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Accepted:
    """`fact`: by its name. `by`: who did it, as user@host. `target_id`: of a target topic that is mirrored anew."""

    fact: str
    by: str
    since_ms: int
    target_id: str = ""

    def is_spent(self, fact: Fact | None, standing: Standing | None) -> bool:
        """`fact`: what stops the partition now. `standing`: where it is."""
        if self.target_id:
            return standing is not None and standing.target_id not in ("", self.target_id)
        return fact is None or (fact.kind, fact.name) != (STOPPED, self.fact)

    def to_value(self) -> dict[str, object]:
        value: dict[str, object] = {"fact": self.fact, "by": self.by, "since_ms": self.since_ms}
        return value | ({"target_id": self.target_id} if self.target_id else {})


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
        case {"fact": str(fact), "by": str(by), "since_ms": int(since_ms), **rest}:
            return Accepted(fact, by, since_ms, str(rest.get("target_id", "")))
    return None
