"""Ways on which records would come back to where they were written, again and again.

Under the default policy a name tells where a topic has been. Where names stay the same, or `topics.map` gives them, a
record that goes round can't be told from a new one; so such flows must not form a circle for any topic. Of two flows,
each can leave out what the other wrote (`identity.bidirectional`); of three, none knows what the others wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.renames import LONGEST_NAME, Renames

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")

Circle = tuple[FlowConfig, ...]


def find_loop(flows: Sequence[FlowConfig]) -> Circle | None:
    """Flows that lead in a circle with names that do not tell it, if some topic may go all the way."""
    silent = [flow for flow in flows if flow.naming.keeps_names or flow.naming.topics_map]
    return next((c for c in _circles(silent) if not _is_permitted(c) and _may_go_round(c)), None)


def can_be_permitted(circle: Circle) -> bool:
    """Whether `identity.bidirectional` would do. What origins merge into one topic has other producer ids."""
    keeps = all(flow.naming.keeps_names for flow in circle)
    return len(circle) == 2 and keeps and not any(r.can_merge for flow in circle for r in _renames(flow).entries)


def _is_permitted(circle: Circle) -> bool:
    return can_be_permitted(circle) and all(flow.naming.identity_bidirectional for flow in circle)


def _may_go_round(circle: Circle) -> bool:
    if all(flow.naming.keeps_names for flow in circle) and may_share_topics(circle):
        return True
    named = {name for flow in circle for name in (*flow.topics, *(r.example() for r in _renames(flow).entries))}
    return any(_comes_back(circle, first, name) for name in named for first in range(len(circle)))


def _comes_back(circle: Circle, first: int, topic: str) -> bool:
    """Whether a topic is some day called what it was called before, on the same cluster."""
    seen: set[tuple[int, str]] = set()
    name: str | None = topic
    place = first
    while name is not None and (place, name) not in seen and len(seen) < LONGEST_NAME:
        seen.add((place, name))
        name = _name_after(circle[place], name)
        place = (place + 1) % len(circle)
    return (place, name) in seen


def _name_after(flow: FlowConfig, topic: str) -> str | None:
    """None where it is not mirrored, or gets a name that tells where it came from."""
    if not _takes(flow, topic):
        return None
    rename = _renames(flow).find(topic)
    return rename.apply(topic) if rename else topic if flow.naming.keeps_names else None


def _renames(flow: FlowConfig) -> Renames:
    return Renames.of(flow.naming.topics_map)


def _circles(flows: Sequence[FlowConfig]) -> Iterator[Circle]:
    """Every circle once, beginning with the flow that comes first in the file."""
    for index, first in enumerate(flows):
        yield from _closing(first, (first,), flows[index + 1 :])


def _closing(first: FlowConfig, way: Circle, others: Sequence[FlowConfig]) -> Iterator[Circle]:
    end = way[-1].target.alias
    if end == first.source.alias:
        yield way
        return
    for flow in others:
        if flow.source.alias == end and all(flow.target.alias != passed.target.alias for passed in way):
            yield from _closing(first, (*way, flow), others)


def may_share_topics(circle: Circle) -> bool:
    """Whether some topic may pass all filters. Of two regexes that is not known, and counts as yes."""
    if not all(flow.topics for flow in circle):
        return False
    listed = [flow for flow in circle if all(map(_PLAIN_NAME.fullmatch, flow.topics))]
    names = [name for flow in listed for name in flow.topics]
    return not listed or any(all(_takes(flow, name) for flow in circle) for name in names)


def _takes(flow: FlowConfig, topic: str) -> bool:
    include, exclude = compile_elements(flow.topics), compile_elements(flow.topics_exclude)
    is_excluded = exclude is not None and exclude.fullmatch(topic) is not None
    return include is not None and include.fullmatch(topic) is not None and not is_excluded
