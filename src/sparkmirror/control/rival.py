"""A MirrorMaker 2 that still runs on the same flow: what both would write is there twice, and then stops.

It runs in workers of Kafka Connect, which form a group on the target and tell it which connectors' tasks they hold.

    group     `<source>-mm2`, or as the file names it    any
    task of   MirrorSourceConnector                      a connector that the workers' configurations call one, of the
              (a MirrorMaker 2 on a file)                same aliases and addresses (one in a Connect cluster)

A pair that only exchanges heartbeats has no such task, a worker that was killed ends with its session, a connector that
is paused keeps its tasks and goes on with one request: it counts.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from sparkmirror.config.model import ClusterConfig, FlowConfig
from sparkmirror.control.connect_topics import read_connectors
from sparkmirror.errors import BrokerError, ProtocolError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.coordinators import RETRY_S
from sparkmirror.net.groups import STABLE, GroupState, describe_groups, list_groups
from sparkmirror.offsets.connectors import Connector, HostPort, parse_places
from sparkmirror.protocol import codes
from sparkmirror.protocol.connect_workers import PROTOCOL_TYPE, Workers, parse_workers
from sparkmirror.shown import shown
from sparkmirror.topology.storage import CONNECTOR

ANSWER_S = 5.0
LOOK_EVERY_S = 10.0
LOOK_SOON_S = 2.0  # while one runs
RETRY_EVERY_S = 60.0  # to read what could not be read
LONGEST_NAME = 250


class RivalError(SparkmirrorError):
    """Nothing is copied beside it."""


class _Found(NamedTuple):
    """`said`: the connector's name, or nothing; `members`: the workers' words that told it; good up to `until`."""

    said: str = ""
    members: frozenset[tuple[bytes, bytes]] | None = None
    until: float = math.inf


class RivalWatch:
    """One flow's. What was found of a group stands until its workers say something else."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._found: dict[str, _Found] = {}
        self._said = ""
        self._next_look = 0.0

    def tend(self) -> str:
        """What is to be said of it as it was last looked for, which is now and then."""
        if time.monotonic() >= self._next_look:
            self._said = self.look()
            self._next_look = time.monotonic() + (LOOK_SOON_S if self._said else LOOK_EVERY_S)
        return self._said

    def look(self) -> str:
        """What is to be said of it; empty if there is none, or we may not know."""
        self._found = {group: self._judge(group, state) for group, state in self._describe().items()}
        for group, found in sorted(self._found.items()):
            if found.said:
                return self._say(group, found.said)
        return ""

    def _say(self, group: str, connector: str) -> str:
        where = f"connector {connector} in group {shown(group, LONGEST_NAME)} of cluster {self._flow.target.alias}"
        what = f"a MirrorMaker 2 still mirrors {self._flow.name} ({where})"
        return f"{what}, and both would write each record; stop it"

    def _describe(self) -> dict[str, GroupState | BrokerError]:
        """Groups of workers. A rebalance hides what they hold: it is waited for once, where nothing is known yet."""
        listed = list_groups(self._target, deadline_s=ANSWER_S).groups
        groups = {name for name, group in listed.items() if group.protocol_type == PROTOCOL_TYPE} | self._found.keys()
        until = time.monotonic() + ANSWER_S
        while True:
            answers = describe_groups(self._target, groups, deadline_s=ANSWER_S) if groups else {}
            states = {group: state for group, state in answers.items() if _may_hold(state)}
            if time.monotonic() > until or not any(_is_hidden(states[group]) for group in states.keys() - self._found):
                return states
            time.sleep(RETRY_S)  # a group tells by answering again

    def _judge(self, group: str, state: GroupState | BrokerError) -> _Found:
        before = self._found.get(group, _Found())
        if isinstance(state, BrokerError):
            return before if state.code in codes.COORDINATOR_MOVED else _Found()
        members = frozenset(state.workers)
        if _is_hidden(state) or (members == before.members and time.monotonic() < before.until):
            return before
        try:
            workers = parse_workers(members)
        except ProtocolError:
            return _Found("", members)
        if workers.are_moving and before.said:  # what it named may still run, or come back on another worker
            return before
        said, is_sure = self._find(group, workers)
        if is_sure:
            return _Found(said, members)
        return _Found(said or before.said, members, time.monotonic() + RETRY_EVERY_S)

    def _find(self, group: str, workers: Workers) -> tuple[str, bool]:
        """The connector that mirrors the flow, and whether it is sure that no other answer comes by itself."""
        if group == worker_group(self._flow) and CONNECTOR in workers.tasks:
            return CONNECTOR, True
        if not workers.tasks:
            return "", True
        topics, is_sure = read_connectors(self._target, workers)
        for name in sorted(workers.tasks):
            if topics and all(self._is_same(connectors[name]) for connectors in topics):
                return shown(name, LONGEST_NAME), is_sure
        return "", is_sure

    def _is_same(self, connector: Connector) -> bool:
        """Records go to the worker's own cluster, which is to be the target by name, or where the connector says."""
        flow = self._flow
        written = connector.target_servers if connector.producer_servers is None else connector.producer_servers
        return (
            connector.is_mirror
            and (connector.source, connector.target) == (flow.source.alias, flow.target.alias)
            and _are_of(self._source, flow.source, connector.source_servers)
            and _are_of(self._target, flow.target, written)
        )


def _may_hold(state: GroupState | BrokerError) -> bool:
    return isinstance(state, BrokerError) or (state.protocol_type == PROTOCOL_TYPE and state.members > 0)


def _is_hidden(state: GroupState | BrokerError) -> bool:
    return isinstance(state, GroupState) and state.state != STABLE


def worker_group(flow: FlowConfig) -> str:
    """Of a MirrorMaker 2 on the flow's file."""
    return flow.target.properties.get("group.id", "").strip() or f"{flow.source.alias}-mm2"


def _are_of(cluster: Cluster, config: ClusterConfig, places: frozenset[HostPort]) -> bool:
    """Whether one of them is a server that the file names, or that the cluster itself does."""
    if places & parse_places(",".join(config.bootstrap_servers)):
        return True
    brokers = cluster.fetch_metadata([]).brokers.values() if places else ()
    return any((broker.host.lower(), broker.port) in places for broker in brokers)
