"""Groups of consumers: which there are, in what state, and their end."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka.protocol.admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest

from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.cluster import Cluster, chunks
from sparkmirror.net.coordinators import DEADLINE_S, RETRY_S, ask_coordinators, each_node, refusal
from sparkmirror.protocol import codes
from sparkmirror.protocol import describe_consumer_groups as protocol
from sparkmirror.protocol.connect_workers import PROTOCOL_TYPE

AT_ONCE = 500  # groups a request
LOADING_S = 5.0

CLASSIC, CONSUMER = "classic", "consumer"
STABLE, EMPTY, DEAD = "Stable", "Empty", "Dead"


class ListedGroup(NamedTuple):
    """Brokers before 2.6 don't say the state, those before 3.8 not the type: "" then."""

    type: str
    state: str
    protocol_type: str

    @property
    def reads_topics(self) -> bool:
        """Consumers, and those who only commit: not Connect's workers, share groups and the like."""
        return self.type == CONSUMER or (self.type in (CLASSIC, "") and self.protocol_type in ("consumer", ""))


@dataclass(frozen=True, slots=True)
class Listing:
    """Groups by id; and brokers that could not be asked, with the reason. The groups of those may be missing."""

    groups: dict[str, ListedGroup]
    failed: dict[int, str]


class GroupState(NamedTuple):
    """In Kafka's words: Stable, Empty, PreparingRebalance, ... Dead: there is no such group.

    `workers`: each one's metadata and assignment, of Kafka Connect's alone.
    """

    state: str
    type: str = ""
    members: int = 0
    protocol_type: str = ""
    workers: tuple[tuple[bytes, bytes], ...] = ()


def list_groups(cluster: Cluster, *, deadline_s: float = LOADING_S) -> Listing:
    """Every broker tells the groups that it coordinates. One that reads them from its logs is given some time."""
    deadline = time.monotonic() + deadline_s
    listing = Listing({}, {})
    brokers = cluster.fetch_metadata([]).brokers
    for node, answer in each_node(brokers, lambda node: _list(cluster, node, deadline)).items():
        if isinstance(answer, str):
            listing.failed[node] = answer
        else:
            listing.groups.update(answer)
    return listing


def describe_groups(
    cluster: Cluster, groups: Collection[str], *, deadline_s: float = DEADLINE_S
) -> dict[str, GroupState | BrokerError]:
    """States and numbers of members. Share and streams groups are not looked for: to this they are not there."""

    def ask(node: int, groups: Sequence[str]) -> Iterator[tuple[str, GroupState | BrokerError]]:
        for chunk in chunks(groups, AT_ONCE):
            yield from _describe(cluster, node, chunk)

    return ask_coordinators(cluster, groups, ask, deadline_s=deadline_s)


def delete_groups(
    cluster: Cluster, groups: Collection[str], *, deadline_s: float = DEADLINE_S
) -> dict[str, BrokerError]:
    """Delete groups with all that they committed, and say which were refused. That one is gone already is fine."""

    def ask(node: int, groups: Sequence[str]) -> Iterator[tuple[str, BrokerError | None]]:
        for chunk in chunks(groups, AT_ONCE):
            for answer in cluster.call(node, DeleteGroupsRequest(groups_names=chunk)).results:
                group, code = answer.group_id, answer.error_code
                gone = code in (codes.NONE, codes.GROUP_ID_NOT_FOUND)
                yield group, None if gone else refusal(cluster, group, "it can't be deleted", code, "DELETE")

    answers = ask_coordinators(cluster, groups, ask, deadline_s=deadline_s)
    return {group: refused for group, refused in answers.items() if refused is not None}


def _list(cluster: Cluster, node: int, deadline: float) -> dict[str, ListedGroup] | str:
    while True:
        try:
            answer = cluster.call(node, ListGroupsRequest(states_filter=[], types_filter=[]))
        except SparkmirrorError as error:
            return str(error)
        if answer.error_code not in codes.COORDINATOR_MOVED or time.monotonic() > deadline:
            break
        time.sleep(RETRY_S)  # it tells by answering again
    if answer.error_code:
        return codes.name_of(answer.error_code)
    # Fields that a broker's version does not have are None.
    return {
        one.group_id: ListedGroup((one.group_type or "").lower(), one.group_state or "", one.protocol_type)
        for one in answer.groups
    }


def _describe(cluster: Cluster, node: int, groups: Sequence[str]) -> Iterator[tuple[str, GroupState | BrokerError]]:
    """Classic groups first: brokers that know no others are not asked about them."""
    missing = []
    for answer in cluster.call(node, DescribeGroupsRequest(groups=groups, include_authorized_operations=False)).groups:
        group, code, state = answer.group_id, answer.error_code, answer.group_state
        if code == codes.GROUP_ID_NOT_FOUND or (not code and state == DEAD):
            missing.append(group)
        elif code:
            yield group, _not_described(cluster, group, code)
        else:
            kept = answer.members if answer.protocol_type == PROTOCOL_TYPE else ()
            workers = tuple((bytes(one.member_metadata), bytes(one.member_assignment)) for one in kept)
            yield group, GroupState(state, CLASSIC, len(answer.members), answer.protocol_type, workers)
    if missing and cluster.supports(node, protocol.API_KEY):
        yield from _describe_consumer_groups(cluster, node, missing)
    else:
        yield from ((group, GroupState(DEAD)) for group in missing)


def _describe_consumer_groups(
    cluster: Cluster, node: int, groups: Sequence[str]
) -> Iterator[tuple[str, GroupState | BrokerError]]:
    body = protocol.encode_describe_consumer_groups(groups)
    _, frame = cluster.call_raw(node, protocol.API_KEY, (protocol.VERSION,), lambda _: [body])
    for error, group, state, members in protocol.parse_describe_consumer_groups(frame):
        if error in (codes.GROUP_ID_NOT_FOUND, codes.UNSUPPORTED_VERSION):  # the latter: switched off at this broker
            yield group, GroupState(DEAD)
        elif error:
            yield group, _not_described(cluster, group, error)
        else:
            yield group, GroupState(state, CONSUMER, members, CONSUMER)


def _not_described(cluster: Cluster, group: str, code: int) -> BrokerError:
    return refusal(cluster, group, "it can't be described", code, "DESCRIBE")
