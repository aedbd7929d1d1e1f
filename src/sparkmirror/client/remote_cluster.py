"""Single questions, each with a connection of its own: the counterpart of Kafka's RemoteClusterUtils."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import overload

from sparkmirror.client.mirror_client import TIMEOUT_S, GroupOffsets, MirrorClient

Properties = str | Mapping[str, str]


def replication_hops(properties: Properties, upstream: str) -> int:
    with MirrorClient(properties) as client:
        return client.replication_hops(upstream)


def heartbeat_topics(properties: Properties) -> set[str]:
    with MirrorClient(properties) as client:
        return client.heartbeat_topics()


def checkpoint_topics(properties: Properties) -> set[str]:
    with MirrorClient(properties) as client:
        return client.checkpoint_topics()


def upstream_clusters(properties: Properties) -> set[str]:
    with MirrorClient(properties) as client:
        return client.upstream_clusters()


@overload
def translate_offsets(
    properties: Properties, cluster: str, group: str, timeout_s: float = TIMEOUT_S
) -> GroupOffsets: ...


@overload
def translate_offsets(
    properties: Properties, cluster: str, group: re.Pattern[str], timeout_s: float = TIMEOUT_S
) -> dict[str, GroupOffsets]: ...


def translate_offsets(
    properties: Properties, cluster: str, group: str | re.Pattern[str], timeout_s: float = TIMEOUT_S
) -> GroupOffsets | dict[str, GroupOffsets]:
    """Where a group of `cluster` goes on here; for a compiled pattern, by name of all groups that match it."""
    with MirrorClient(properties) as client:
        if isinstance(group, str):
            return client.remote_consumer_offsets(group, cluster, timeout_s)
        return client.remote_consumer_offsets_matching(group, cluster, timeout_s)
