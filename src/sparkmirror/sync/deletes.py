"""Remote topics whose source topic is gone, where `sync.topic.deletes.enabled` asks for their end.

A topic that a user may not see any more looks as if it were gone, and so does every topic of an empty cluster under the
old address. So a remote topic goes only if the mirror made it, from a topic of this very cluster that the file still
names, and if that cluster says of that name that there is no such topic. It is deleted by its id, so that none that was
made anew under its name goes in its place. And nothing goes that others have there: not a topic that several share or
ever shared, nor one whose logs do not end where the mirror left them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.protocol import codes
from sparkmirror.topology.select import TopicSelector


def plan_deletes(
    made: Mapping[str, str], source_topics: Collection[str], target_topics: Collection[str], selector: TopicSelector
) -> dict[str, str]:
    """Remote topic -> its source topic that is not listed any more. `made`: the same of all that the mirror made."""
    in_use = {selector.remote_name(topic) for topic in source_topics if selector.should_replicate(topic)}
    return {
        remote: topic
        for remote, topic in made.items()
        if topic
        and topic not in source_topics
        and remote in target_topics
        and remote not in in_use
        and selector.should_replicate(topic)
        and selector.remote_name(topic) == remote
    }


def find_shared(
    gone: Iterable[str], selector: TopicSelector, merged: Collection[str], *, mutual: bool
) -> dict[str, str]:
    """Source topics whose remote topic is not theirs alone, and why. `merged`: those that ever shared one."""
    if mutual:
        return dict.fromkeys(gone, "names stay both ways, so it is a topic of its own cluster as well")
    return {
        topic: "other topics are written into it, or were"
        for topic in gone
        if topic in merged or selector.is_shared(topic)
    }


def fetch_ends(target: Cluster, there: Metadata, remotes: Iterable[str]) -> dict[tuple[str, int], int | None]:
    """Where the logs of remote topics end; None where that is not answered."""
    leaders = {
        (remote, number): leader for remote in remotes for number, leader in there.topics[remote].leaders.items()
    }
    ends = list_offsets(target, leaders, LATEST)
    return {place: ends.get(place) for place in leaders}


def is_gone(source: Cluster, topic: str, cluster_id: str) -> bool:
    """Whether the cluster with this id says so of this very name."""
    found = source.fetch_metadata([topic])
    info = found.topics.get(topic)
    is_unknown = info is not None and info.error == codes.UNKNOWN_TOPIC_OR_PARTITION
    return is_unknown and bool(cluster_id) and found.cluster_id == cluster_id
