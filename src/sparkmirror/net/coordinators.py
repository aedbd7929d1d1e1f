"""Which broker coordinates a group, and asking it.

Coordinators move while brokers come and go. Nobody is told: the old one refuses, and the new one has to be looked up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from kafka.protocol.metadata import FindCoordinatorRequest

from sparkmirror.errors import BrokerError, ConnectionLostError, ProtocolError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.denial import refused
from sparkmirror.protocol import codes
from sparkmirror.topology.right import GROUP, Right

AT_ONCE = 1_000  # groups a look-up
MOST_KNOWN = 200_000
MOST_THREADS = 16
DEADLINE_S = 15.0
RETRY_S = 0.05
_MOST_RETRY_S = 1.0
_GROUP = 0

Answer = TypeVar("Answer")
# Asks one broker about groups that it coordinates; the answers come group by group.
Ask = Callable[[int, Sequence[str]], Iterator[tuple[str, Answer | BrokerError]]]


def ask_coordinators(
    cluster: Cluster, groups: Collection[str], ask: Ask[Answer], *, deadline_s: float = DEADLINE_S
) -> dict[str, Answer | BrokerError]:
    """All coordinators at the same time. Those that moved are looked up and asked again up to the deadline."""
    deadline = time.monotonic() + deadline_s
    pause_s = RETRY_S
    answers: dict[str, Answer | BrokerError] = {}
    left = list(dict.fromkeys(groups))
    while left:
        answers |= _ask_once(cluster, left, ask)
        left = [group for group in left if _has_moved(answers[group])]
        for group in left:
            cluster.coordinators.pop(group, None)
        if not left or time.monotonic() + pause_s > deadline:
            break
        time.sleep(pause_s)  # a coordinator tells by answering again
        pause_s = min(2 * pause_s, _MOST_RETRY_S)
    return answers


def find_coordinators(cluster: Cluster, groups: Sequence[str]) -> dict[str, int | BrokerError]:
    """Each group's coordinator: as it was found before, else in as few requests as the brokers' version allows."""
    known = cluster.coordinators
    if len(known) > MOST_KNOWN:
        known.clear()
    found: dict[str, int | BrokerError] = {group: known[group] for group in groups if group in known}
    unknown = [group for group in groups if group not in found]
    first = 0
    while first < len(unknown):
        answers = _look_up(cluster, unknown[first : first + AT_ONCE])
        known |= {group: node for group, node in answers.items() if isinstance(node, int)}
        found |= answers
        first += len(answers)
    return found


def each_node(nodes: Iterable[int], ask: Callable[[int], Answer]) -> dict[int, Answer]:
    """Ask brokers at the same time: one that hangs holds up nobody else's answer."""
    listed = list(nodes)
    if len(listed) <= 1:
        return {node: ask(node) for node in listed}
    with ThreadPoolExecutor(min(len(listed), MOST_THREADS), thread_name_prefix="brokers") as pool:
        return dict(zip(listed, pool.map(ask, listed), strict=True))


def refusal(cluster: Cluster, group: str, what: str, code: int, operation: str) -> BrokerError:
    """Why `what` can't be done; `operation` is what one must be allowed on the group."""
    said = f"cluster {cluster.address.alias}: group {group}: {what}"
    return refused(cluster.address, said, code, Right(operation, GROUP, group))


def _has_moved(answer: object) -> bool:
    return isinstance(answer, BrokerError) and answer.code in codes.COORDINATOR_MOVED


def _look_up(cluster: Cluster, groups: Sequence[str]) -> dict[str, int | BrokerError]:
    """Of all these groups or, from brokers before 3.0, of the first one (KIP-699)."""
    request = FindCoordinatorRequest(key=groups[0], key_type=_GROUP, coordinator_keys=groups)
    answer = cluster.call_any(request)
    if not answer.coordinators:
        return {groups[0]: _coordinator(cluster, groups[0], answer)}
    found = {one.key: _coordinator(cluster, one.key, one) for one in answer.coordinators}
    if found.keys() != set(groups):
        raise ProtocolError(f"the coordinators of {len(groups)} groups were asked for, and others came")
    return found


def _coordinator(cluster: Cluster, group: str, answer: Any) -> int | BrokerError:
    node, code = int(answer.node_id), answer.error_code
    if node < 0 and not code:
        code = codes.COORDINATOR_NOT_AVAILABLE
    return refusal(cluster, group, "its coordinator can't be found", code, "DESCRIBE") if code else node


def _ask_once(cluster: Cluster, groups: Sequence[str], ask: Ask[Answer]) -> dict[str, Answer | BrokerError]:
    answers: dict[str, Answer | BrokerError] = {}
    by_node: dict[int, list[str]] = {}
    for group, node in find_coordinators(cluster, groups).items():
        if isinstance(node, BrokerError):
            answers[group] = node
        else:
            by_node.setdefault(node, []).append(group)
    for part in each_node(by_node, lambda node: _ask_node(cluster, node, by_node[node], ask)).values():
        answers |= part
    return answers


def _ask_node(cluster: Cluster, node: int, groups: Sequence[str], ask: Ask[Answer]) -> dict[str, Answer | BrokerError]:
    """What stands in the way of asking stands in the way of the groups that have no answer yet."""
    answers: dict[str, Answer | BrokerError] = {}
    trouble: BrokerError | None = None
    try:
        answers.update(ask(node, groups))  # keeps what came before an error
    except ConnectionLostError as error:
        lost = f"cluster {cluster.address.alias}: coordinator {node} does not answer: {error}"
        trouble = BrokerError(codes.COORDINATOR_NOT_AVAILABLE, lost)
    except BrokerError as error:
        trouble = error
    if trouble is not None:
        return dict.fromkeys(groups, trouble) | answers
    if answers.keys() != set(groups):
        raise ProtocolError(f"broker {node} was asked about {len(groups)} groups and answered about others")
    return answers
