"""Whether the two topics of a partition are still those that it was mirrored from and to. Pure.

A topic that was deleted and made anew has its name and none of its records. The copy of the old one may be the only
one there is, so what holds of the new one (where its log begins, its configurations) must not be done to that copy:

                       source orders, id 5d…        target a.orders, id 77…
    progress says      5d…                          77…
    the brokers say    5d…                          77…      the same: the target may follow the source
                       e1…                          77…      another: the target stays as it is
                       (no ids: before 3.1)         77…      not known: nothing is deleted
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

# Facts by which the target's log is not a copy of what the source holds by this name.
OTHER_LOGS = frozenset(
    {
        "diverged",
        "foreign-writer",
        "position-unknown",
        "source-recreated",
        "source-truncated",
        "target-recreated",
        "target-truncated",
        "target-wiped",
    }
)


Place = tuple[str, int]


class TopicIds(NamedTuple):
    """As the brokers say now; empty where they do not say."""

    source: str
    target: str


def why_not_same(known: Standing | None, now: TopicIds) -> str:
    """Why it is not proven that both topics are those of the progress; empty if it is."""
    if known is None or not known.source_id or not known.target_id:
        return "progress does not say which topics it is about"
    if not now.source or not now.target:
        return "the brokers give topics no ids (before 3.1)"
    return why_another(known, now)


def why_another(known: Standing | None, now: TopicIds) -> str:
    """Why one of the topics is known to be another than that of the progress; empty if it is not known."""
    if known is None:
        return ""
    for side, then, id_ in (("source", known.source_id, now.source), ("target", known.target_id, now.target)):
        if then and id_ and then != id_:
            return f"the {side} topic was deleted and made anew"
    return ""


def why_stopped(fact: Fact | None) -> str:
    """Why nothing is removed from a partition with this fact; empty if it may be."""
    return f"the copy stands still ({fact.said})" if fact and fact.kind == "stopped" else ""


def why_other_logs(fact: Fact | None) -> str:
    """Why the target's topic is not made like the source's; empty if it may be."""
    return why_stopped(fact) if fact and fact.name in OTHER_LOGS else ""


def find_others(
    ids: Mapping[str, TopicIds], standings: Mapping[Place, Standing], facts: Mapping[Place, Fact]
) -> dict[str, str]:
    """Topics whose remote topic is known not to be their copy any more, with the reason. `ids`: by source topic."""
    found: dict[str, str] = {}
    for place in _places_of(ids, {*standings, *facts}):
        why = why_another(standings.get(place), ids[place[0]]) or why_other_logs(facts.get(place))
        if why:
            found.setdefault(place[0], why)
    return found


def find_foreign(
    ids: Mapping[str, TopicIds], standings: Mapping[Place, Standing], facts: Mapping[Place, Fact]
) -> dict[str, str]:
    """Topics whose remote topic is not proven to hold their copy and nothing else: with equal offsets it does."""
    found = find_unproven(ids, standings, facts)
    for place in _places_of(ids, standings):
        if standings[place].translated:
            found.setdefault(place[0], "its offsets are translated, so it may hold other records, too")
    return found


def find_written(
    remotes: Mapping[str, str], ends: Mapping[Place, int | None], standings: Mapping[Place, Standing]
) -> dict[str, str]:
    """Topics whose remote topic holds records that the mirror did not write, as far as its logs' ends tell.

    `remotes`: source topic -> remote topic. `ends`: of each remote partition, None where that is not known.
    """
    found: dict[str, str] = {}
    topics = {remote: topic for topic, remote in remotes.items()}
    for (remote, number), end in ends.items():
        known = standings.get((topics[remote], number))
        left = known.target_end if known else 0
        if end is None:
            found[topics[remote]] = f"partition {number} does not answer"
        elif end != left:
            said = f"partition {number} ends at {end} and the mirror left it at {left}"
            found[topics[remote]] = f"{said}: it may hold records that the mirror did not write"
    return found


def find_unproven(
    ids: Mapping[str, TopicIds], standings: Mapping[Place, Standing], facts: Mapping[Place, Fact]
) -> dict[str, str]:
    """Topics whose remote topic is not proven to be their copy, or of which a partition stands still."""
    found = {topic: why_not_same(None, now) for topic, now in ids.items()}
    for place in _places_of(ids, standings):
        if not why_not_same(standings[place], ids[place[0]]):
            found.pop(place[0], None)
    for place in _places_of(ids, {*standings, *facts}):
        why = why_another(standings.get(place), ids[place[0]]) or why_stopped(facts.get(place))
        if why:
            found[place[0]] = why
    return found


def find_kept(
    last_ids: Mapping[str, str], standings: Mapping[Place, Standing], facts: Mapping[Place, Fact]
) -> dict[str, str]:
    """Source topics that are gone, and why their remote topics stay: what went need not be what was copied.

    `last_ids`: by source topic, the id with which it was last seen.
    """
    found = {topic: "it is not known which topic of that name went" for topic, id_ in last_ids.items() if not id_}
    for place in _places_of(last_ids, {*standings, *facts}):
        why, known = why_stopped(facts.get(place)), standings.get(place)
        if known and not why:
            why = why_not_same(known, TopicIds(last_ids[place[0]], known.target_id))
        if why:
            found[place[0]] = why
    return found


def _places_of(topics: Collection[str], places: Iterable[Place]) -> list[Place]:
    return [place for place in places if place[0] in topics]
