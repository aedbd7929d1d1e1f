"""Ways on which records would come back to where they were written, again and again.

Under the default policy a name tells where a topic has been. Where names stay the same, a record that goes round can't
be told from a new one; so flows that keep names must not form a circle for any topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError
from sparkmirror.topology.choose import choose_topic_filter, keeps_names

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def refuse_loops(flows: Sequence[FlowConfig]) -> None:
    """ConfigError for flows that keep names and lead in a circle, unless their topics are known to differ."""
    keeping = [flow for flow in flows if keeps_names(flow)]
    for circle in _circles(keeping):
        if _is_permitted(circle) or not _share_topics(circle):
            continue
        way = " and ".join(flow.name for flow in circle)
        cure = "identity.bidirectional=true" if len(circle) == 2 else "the default policy"
        raise ConfigError(
            f"{way} keep topic names ({circle[0].naming.policy_class}) and lead in a circle: each record would be "
            f"copied round without end; give them topics that differ, or set {cure}"
        )


def _is_permitted(circle: Sequence[FlowConfig]) -> bool:
    return len(circle) == 2 and all(flow.naming.identity_bidirectional for flow in circle)


def _circles(flows: Sequence[FlowConfig]) -> Iterator[tuple[FlowConfig, ...]]:
    """Every circle once, beginning with the flow that comes first in the file."""
    for index, first in enumerate(flows):
        yield from _closing(first, (first,), flows[index + 1 :])


def _closing(
    first: FlowConfig, way: tuple[FlowConfig, ...], others: Sequence[FlowConfig]
) -> Iterator[tuple[FlowConfig, ...]]:
    end = way[-1].target.alias
    if end == first.source.alias:
        yield way
        return
    for flow in others:
        if flow.source.alias == end and all(flow.target.alias != passed.target.alias for passed in way):
            yield from _closing(first, (*way, flow), others)


def _share_topics(circle: Sequence[FlowConfig]) -> bool:
    """Whether some topic may pass all filters. Of two regexes that is not known, and counts as yes."""
    filters = [choose_topic_filter(flow) for flow in circle]
    listed = [flow for flow in circle if flow.topics and all(map(_PLAIN_NAME.fullmatch, flow.topics))]
    if not listed:
        return all(flow.topics for flow in circle)
    names = (name for flow in listed for name in flow.topics)
    return any(all(each.should_replicate_topic(name) for each in filters) for name in names)
