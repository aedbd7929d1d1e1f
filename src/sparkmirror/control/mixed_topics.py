"""Remote topics that may hold more than the copy of one source topic: who may read them, and how long, is the target's.

A reader of the source topic would read what the source never let him read, and the source's retention would remove what
the source never had. A topic whose name says where it comes from, or that the mirror made, is taken for a copy; another
one when progress proves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkmirror.offsets.topic_memory import TopicMemory
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.select import TopicPair, TopicSelector


def find_mixed(
    pairs: Iterable[TopicPair],
    ids: Mapping[str, TopicIds],
    selector: TopicSelector,
    memory: TopicMemory,
    foreign: Mapping[str, str],
) -> dict[str, str]:
    """By remote topic, and why. `ids` and `foreign` (see `topology/incarnation`) by source topic."""
    found = {}
    for pair in pairs:
        by_policy = selector.policy.format_remote_topic(selector.source, pair.topic)
        is_named = pair.remote == by_policy != pair.topic
        if pair.is_shared or pair.topic in memory.merged:
            found[pair.remote] = "other topics are written into it, or were"
        elif not is_named and not memory.is_made(pair.remote, ids[pair.topic].target) and pair.topic in foreign:
            why = f"it is not proven to hold the copy alone ({foreign[pair.topic]})"
            found[pair.remote] = f"the mirror did not make it, and {why}"
    return found
