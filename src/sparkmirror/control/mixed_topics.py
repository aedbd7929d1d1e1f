"""Remote topics that may hold more than the copy of one source topic: who may read them, and how long, is the target's.

A reader of the source topic would read what the source never let him read, and the source's retention would remove what
the source never had. A topic whose name says where it comes from, or that the mirror made, is taken for a copy; another
one when progress proves it. None is into which the mirror has ever written another topic: a file may be changed, and
give a remote topic to another source topic by `topics.map`, the separator or the replication policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkmirror.offsets.topic_memory import HeldTopic, TopicMemory
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.select import TopicPair, TopicSelector

MIXED = "other topics are written into it, or were"


def plan_held(pairs: Iterable[TopicPair], target_ids: Mapping[str, str], memory: TopicMemory) -> dict[str, HeldTopic]:
    """What is to be remembered of remote topics before these pairs are mirrored. `target_ids`: of remote topics."""
    news: dict[str, HeldTopic] = {}
    for pair in pairs:
        if not pair.present:
            continue
        topic_id = target_ids.get(pair.remote, "")
        is_mixed = pair.is_shared or memory.holds_others(pair.remote, topic_id, pair.topic)
        held = HeldTopic(topic_id, "" if is_mixed else pair.topic)
        made = memory.made.get(pair.remote)
        is_said = made is not None and (made.topic_id, made.source) == (topic_id, held.source)
        if memory.held.get(pair.remote) != held and not is_said:
            news[pair.remote] = held
    return news


def find_kept_for_others(gone: Mapping[str, str], target_ids: Mapping[str, str], memory: TopicMemory) -> dict[str, str]:
    """Source topics whose remote topics outlive them, and why. `gone`: source topic -> remote topic."""
    return {
        topic: MIXED for topic, remote in gone.items() if memory.holds_others(remote, target_ids.get(remote, ""), topic)
    }


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
        target_id = ids[pair.topic].target
        is_shared = pair.is_shared or pair.topic in memory.merged
        if is_shared or memory.holds_others(pair.remote, target_id, pair.topic):
            found[pair.remote] = MIXED
        elif not is_named and not memory.is_made(pair.remote, target_id) and pair.topic in foreign:
            why = f"it is not proven to hold the copy alone ({foreign[pair.topic]})"
            found[pair.remote] = f"the mirror did not make it, and {why}"
    return found
