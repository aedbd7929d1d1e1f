"""A MirrorMaker 2 that still runs on the same flow: what both would write is there twice, and then stops.

Its workers are members of a group on the target, `<source>-mm2` unless the file names another, as long as they live.
They are also there for a pair that only exchanges heartbeats: then no task of its MirrorSourceConnector runs, which the
status topic tells. That one is not cleared when a worker is killed. So it takes both.

A connector in a Connect cluster of its own has other names, and is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.groups import GroupState, describe_groups
from sparkmirror.offsets.internal_topic import InternalRecord, InternalTopic, newest, parse_object
from sparkmirror.protocol import codes
from sparkmirror.topology.storage import CONNECTOR, Storage

ANSWER_S = 5.0
GROUPS_TOPIC = "__consumer_offsets"
WORKERS = "connect"  # the protocol type of their group
_TASK = re.compile(rf"status-task-{CONNECTOR}-\d+".encode())


class RivalError(SparkmirrorError):
    """Nothing is copied beside it."""


def find_rival(target: Cluster, flow: FlowConfig) -> str:
    """What is to be said of it; empty if there is none, or we may not know."""
    try:
        return _find(target, flow)
    except BrokerError:
        return ""


def _find(target: Cluster, flow: FlowConfig) -> str:
    storage = Storage.of(flow)
    there = target.fetch_metadata([GROUPS_TOPIC, storage.status]).topics
    # To ask for a group's coordinator would have the brokers make the topic of groups.
    if {name for name, info in there.items() if info.error != codes.UNKNOWN_TOPIC_OR_PARTITION} != there.keys():
        return ""
    group = worker_group(flow)
    state = describe_groups(target, [group], deadline_s=ANSWER_S).get(group)
    if not isinstance(state, GroupState) or state.protocol_type != WORKERS or not state.members:
        return ""
    topic = InternalTopic(target, storage.status, partitions=storage.status_partitions, replication_factor=-1)
    if not has_running_task(newest(topic.read())):
        return ""
    workers = f"{state.members} worker{'s' * (state.members != 1)} in group {group} of cluster {flow.target.alias}"
    return f"a MirrorMaker 2 still mirrors {flow.name} ({workers}), and both would write each record; stop it"


def worker_group(flow: FlowConfig) -> str:
    return flow.target.properties.get("group.id", "").strip() or f"{flow.source.alias}-mm2"


def has_running_task(records: Iterable[InternalRecord]) -> bool:
    """`records`: the newest of each key."""
    tasks = (record for record in records if _TASK.fullmatch(record.key or b""))
    return any(parse_object(record.value).get("state") == "RUNNING" for record in tasks)
