"""Ways on which records would come back to where they were written, again and again.

Under the default policy a name tells where a topic has been. Where names stay the same, a record that goes round can't
be told from a new one; so flows that keep names must not form a circle for any topic. Of two flows, each can leave out
what the other wrote (`identity.bidirectional`); of three, none knows what the others wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.renames import Renames

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")

Circle = tuple[FlowConfig, ...]


def find_loop(flows: Sequence[FlowConfig]) -> Circle | None:
    """Flows that keep names and lead in a circle, if some topic may go all the way."""
    keeping = [flow for flow in flows if flow.naming.keeps_names]
    return next((c for c in circles(keeping) if not _is_permitted(c) and may_share_topics(c)), None)


def can_be_permitted(circle: Circle) -> bool:
    """Whether `identity.bidirectional` would do. What origins merge into one topic has other producer ids."""
    return len(circle) == 2 and not any(r.can_merge for f in circle for r in Renames.of(f.naming.topics_map).entries)


def _is_permitted(circle: Circle) -> bool:
    return can_be_permitted(circle) and all(flow.naming.identity_bidirectional for flow in circle)


def circles(flows: Sequence[FlowConfig]) -> Iterator[Circle]:
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
    return not listed or any(all(takes(flow, name) for flow in circle) for name in names)


def takes(flow: FlowConfig, topic: str) -> bool:
    include, exclude = compile_elements(flow.topics), compile_elements(flow.topics_exclude)
    is_excluded = exclude is not None and exclude.fullmatch(topic) is not None
    return include is not None and include.fullmatch(topic) is not None and not is_excluded
