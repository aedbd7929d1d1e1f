"""Which groups of the target go with their groups of the source, where `sync.group.deletes.enabled` asks for it. Pure.

Only what the mirror itself has made of a group may go: one that has members on the target, or offsets there that were
not synced, belongs to somebody else by now. And only if the group was deleted: a cluster that was built anew under its
address has no groups, and a broker forgets a group when the topics are deleted in which it has committed. Such a topic
may have been made anew since, and be mirrored by now: so it is kept in which topics, by their ids, a group stood.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from sparkmirror.groups.rules import IDLE
from sparkmirror.net.groups import DEAD, GroupState
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.protocol.committed import Committed

Place = tuple[str, int]


class End(Enum):
    """DELETE: it may go. FORGET: there is nothing to do, now or later. The others: why it stays for the time being."""

    DELETE = "it may be deleted"
    FORGET = "it is gone on both clusters"
    UNCERTAIN = "it is not known whether it was deleted at the source"
    ACTIVE = "it was deleted at the source, and has members on the target"
    USED = "it was deleted at the source, and its offsets on the target are not those that were synced"
    ELSEWHERE = "the source is another cluster than the one in which it was found before"
    WITHOUT_TOPIC = "it may have ended with a topic of its own: one is not proven to be the one that was mirrored"


def plan_end(
    here: object, there: object, offsets: object, synced: Mapping[Place, Checkpoint], proven: Collection[str]
) -> End:
    """`here`, `there`: the group's state on either cluster, `offsets`: what is committed on the target; or an error.

    `proven`: remote topics that are what they were mirrored from and to.
    """
    if not isinstance(here, GroupState) or here.state != DEAD:
        return End.UNCERTAIN
    if not isinstance(there, GroupState) or not isinstance(offsets, Mapping):
        return End.UNCERTAIN
    if there.state == DEAD:
        return End.FORGET
    if there.state not in IDLE:
        return End.ACTIVE
    if not _are_synced(offsets, synced):
        return End.USED
    return End.DELETE if all(topic in proven for topic, _ in offsets) else End.WITHOUT_TOPIC


def find_proven(stood: Mapping[str, str], now: Mapping[str, str], remotes: Mapping[str, str]) -> set[str]:
    """Remote topics of the topics in which a group stood; none, if it may have ended with one of these.

    `stood`: these topics, with their ids; `now`: ids of topics that are proven to be those that were mirrored.
    """
    if any(now.get(topic) != id_ for topic, id_ in stood.items()):
        return set()
    return {remotes[topic] for topic in stood if topic in remotes}


def _are_synced(offsets: Mapping[Place, Committed], synced: Mapping[Place, Checkpoint]) -> bool:
    return bool(offsets) and all(
        place in synced and synced[place].downstream_offset == committed.offset for place, committed in offsets.items()
    )
