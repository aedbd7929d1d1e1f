"""What groups have committed: fetched, written and deleted by one who is no member of theirs.

One group's trouble is that group's only: it stands as a `BrokerError` in the place of the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka.protocol.consumer import OffsetDeleteRequest

from sparkmirror.errors import BrokerError, ProtocolError
from sparkmirror.net.cluster import Cluster, chunks, group_by
from sparkmirror.net.coordinators import DEADLINE_S, ask_coordinators, refusal
from sparkmirror.net.denial import refused
from sparkmirror.net.exchange import exchange
from sparkmirror.protocol import codes, offset_commit, offset_fetch
from sparkmirror.protocol.committed import Committed, Partition
from sparkmirror.topology.right import TOPIC, Right

GROUPS_AT_ONCE = 500  # a fetch
PARTITIONS_AT_ONCE = 1_000  # a commit: a broker stores it as one batch, which may have 1 MB by default

# What a commit's answer says of each partition and means of the group.
_OF_GROUP = codes.COORDINATOR_MOVED | {
    codes.ILLEGAL_GENERATION,
    codes.INVALID_GROUP_ID,
    codes.UNKNOWN_MEMBER_ID,
    codes.REBALANCE_IN_PROGRESS,
    codes.GROUP_AUTHORIZATION_FAILED,
    codes.GROUP_ID_NOT_FOUND,
}

Offsets = Mapping[Partition, Committed]


def fetch_group_offsets(
    cluster: Cluster, groups: Collection[str], *, require_stable: bool = False, deadline_s: float = DEADLINE_S
) -> dict[str, dict[Partition, Committed] | BrokerError]:
    """All that each group has committed; nothing for a group that is not there.

    A group of which one partition can't be told is an error as a whole, so a partition that is missing has no commit.
    `require_stable`: such are partitions that an open transaction commits to. Brokers before 2.5 don't know of it and
    tell what was committed before.
    """

    def ask(node: int, groups: Sequence[str]) -> Iterator[tuple[str, dict[Partition, Committed] | BrokerError]]:
        answers = exchange(
            cluster,
            node,
            offset_fetch.API_KEY,
            offset_fetch.VERSIONS,
            lambda version: chunks(groups, GROUPS_AT_ONCE if version >= offset_fetch.MANY_GROUPS else 1),
            lambda version, chunk: offset_fetch.encode_offset_fetch(version, chunk, require_stable=require_stable),
        )
        for version, chunk, frame in answers:
            for group, (error, offsets) in offset_fetch.parse_offset_fetch(version, frame, chunk).items():
                if error:
                    yield group, refusal(cluster, group, "offsets can't be read", error, "DESCRIBE")
                else:
                    yield group, offsets

    return ask_coordinators(cluster, groups, ask, deadline_s=deadline_s)


def commit_group_offsets(
    cluster: Cluster, offsets: Mapping[str, Offsets], *, deadline_s: float = DEADLINE_S
) -> dict[str, dict[Partition, int] | BrokerError]:
    """Write offsets of groups that have no members; error codes by partition, 0 for those that were written.

    A group that is not there is made. One that has members is refused (UNKNOWN_MEMBER_ID), with nothing written.
    """

    def ask(node: int, groups: Sequence[str]) -> Iterator[tuple[str, dict[Partition, int] | BrokerError]]:
        answers = exchange(
            cluster,
            node,
            offset_commit.API_KEY,
            (offset_commit.VERSION,),
            lambda _: [(group, part) for group in groups for part in _parts(offsets[group])],
            lambda _, item: offset_commit.encode_offset_commit(*item),
        )
        found: dict[str, dict[Partition, int]] = {}
        for _, (group, part), frame in answers:
            errors = offset_commit.parse_offset_commit(frame)
            if errors.keys() != part.keys():
                raise ProtocolError(f"group {group}: {len(part)} offsets were to be committed, and other answers came")
            merged = found.setdefault(group, {})
            merged |= errors
            if len(merged) == len(offsets[group]):
                yield group, _judge(cluster, group, merged)

    written = ask_coordinators(cluster, [g for g, part in offsets.items() if part], ask, deadline_s=deadline_s)
    return {group: written.get(group, {}) for group in offsets}


def why_uncommitted(cluster: Cluster, place: Partition, code: int) -> BrokerError:
    """Why an offset of a group was not written, where the group's others may have been."""
    topic, partition = place
    right = Right("READ", TOPIC, topic)
    return refused(cluster.address, f"its offset of {topic}-{partition} can't be committed", code, right)


def delete_group_offsets(
    cluster: Cluster, group: str, partitions: Collection[Partition], *, deadline_s: float = DEADLINE_S
) -> dict[Partition, int]:
    """Forget what a group has committed for partitions; error codes by partition.

    A group that is read from can only lose topics that it is not subscribed to.
    """
    kind = OffsetDeleteRequest.OffsetDeleteRequestTopic
    topics = [
        kind(name=topic, partitions=[kind.OffsetDeleteRequestPartition(partition_index=p) for _, p in places])
        for topic, places in group_by(list(partitions), lambda place: place[0]).items()
    ]
    request = OffsetDeleteRequest(group_id=group, topics=topics)

    def ask(node: int, _: Sequence[str]) -> Iterator[tuple[str, dict[Partition, int] | BrokerError]]:
        answer = cluster.call(node, request)
        if answer.error_code:
            yield group, refusal(cluster, group, "offsets can't be deleted", answer.error_code, "DELETE")
        else:
            yield group, {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}

    answer = ask_coordinators(cluster, [group], ask, deadline_s=deadline_s)[group]
    if isinstance(answer, BrokerError):
        raise answer
    return answer


def _judge(cluster: Cluster, group: str, errors: dict[Partition, int]) -> dict[Partition, int] | BrokerError:
    of_group = next((error for error in errors.values() if error in _OF_GROUP), 0)
    if not of_group:
        return errors
    what = "offsets can't be committed"
    if of_group == codes.UNKNOWN_MEMBER_ID:
        what += " while it has members"
    return refusal(cluster, group, what, of_group, "READ")


def _parts(offsets: Offsets) -> Sequence[Offsets]:
    if len(offsets) <= PARTITIONS_AT_ONCE:
        return [offsets]
    return [dict(part) for part in chunks(list(offsets.items()), PARTITIONS_AT_ONCE)]
