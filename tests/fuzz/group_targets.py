"""Responses about groups: those that our own code parses, and what it makes of those that kafka-python decodes."""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetDeleteResponse
from kafka.protocol.metadata import FindCoordinatorResponse

from sparkmirror.net.cluster import Cluster
from sparkmirror.net.coordinators import find_coordinators
from sparkmirror.net.group_offsets import delete_group_offsets
from sparkmirror.net.groups import delete_groups, describe_groups, list_groups
from sparkmirror.protocol import connect_workers, describe_consumer_groups, offset_commit, offset_fetch
from tests.fuzz.protocol_targets import parse_target
from tests.fuzz.response_targets import response_target
from tests.fuzz.target import Target
from tests.support import connect_messages as connect
from tests.support import group_messages as written

_GROUP = written.AnsweredGroup(
    0, {("t", 0): written.Answered(5, 1, "", 0), ("t", 1): written.Answered(7, -1, "some metadata", 0)}
)


def _list_groups() -> Any:
    kind = ListGroupsResponse.ListedGroup
    groups = [kind(group_id=g, protocol_type="consumer", group_state="Empty", group_type="classic") for g in "gh"]
    return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=groups)


def _describe_groups() -> Any:
    kind = DescribeGroupsResponse.DescribedGroup
    member = kind.DescribedGroupMember(
        member_id="m",
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        member_metadata=b"x",
        member_assignment=b"y",
    )
    group = kind(
        error_code=0,
        error_message=None,
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[member] * 2,
        authorized_operations=None,
    )
    return DescribeGroupsResponse(throttle_time_ms=0, groups=[group])


def _offset_delete() -> Any:
    kind = OffsetDeleteResponse.OffsetDeleteResponseTopic
    partition = kind.OffsetDeleteResponsePartition(partition_index=0, error_code=0)
    return OffsetDeleteResponse(error_code=0, throttle_time_ms=0, topics=[kind(name="t", partitions=[partition])])


def _delete_groups() -> Any:
    result = DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=0)
    return DeleteGroupsResponse(throttle_time_ms=0, results=[result])


def _find_coordinator() -> Any:
    place: dict[str, Any] = {"error_code": 0, "error_message": None, "node_id": 1, "host": "host1", "port": 9092}
    coordinator = FindCoordinatorResponse.Coordinator(key="h", **place)
    return FindCoordinatorResponse(throttle_time_ms=0, coordinators=[coordinator], **place)


def _find(cluster: Cluster) -> object:
    return find_coordinators(cluster, ["h"])


def _parse_workers(data: bytes) -> None:
    """The first two bytes say how long the metadata is."""
    at = 2 + int.from_bytes(data[:2])
    workers = connect_workers.parse_workers([(data[2:at], data[at:])])
    assert workers.tasks.keys() <= workers.connectors and all(workers.tasks.values())
    assert sum(map(len, workers.tasks.values())) + sum(map(len, workers.connectors)) <= len(data)


def _worker(metadata: bytes, assignment: bytes) -> bytes:
    return len(metadata).to_bytes(2) + metadata + assignment


_GIVEN = connect.assignment({"x": [-1, 0, 1], "y": [0]}, config_offset=9, revoked={"z": [-1]}, delay_ms=5)
_WORKERS = [
    _worker(connect.metadata(connect.assignment({"z": [-1, 7]}), config_offset=8), _GIVEN),
    _worker(connect.metadata(version=0), connect.assignment({"x": [0]}, version=0)),
]

TARGETS = [
    Target("connect_workers", _parse_workers, _WORKERS),
    *(
        parse_target(
            "offset_fetch",
            version,
            written.offset_fetch_response(version, {"g": _GROUP, "h": _GROUP}),
            lambda version, frame: offset_fetch.parse_offset_fetch(version, frame, ["g", "h"]),
        )
        for version in offset_fetch.VERSIONS
    ),
    parse_target(
        "offset_commit",
        offset_commit.VERSION,
        written.offset_commit_response(offset_commit.VERSION, {("t", 0): 0, ("u", 3): 25}),
        lambda _, frame: offset_commit.parse_offset_commit(frame),
    ),
    parse_target(
        "consumer_group_describe",
        describe_consumer_groups.VERSION,
        written.consumer_group_describe_response([(0, "g", "Stable", 2), (69, "h", "", 0)]),
        lambda _, frame: describe_consumer_groups.parse_describe_consumer_groups(frame),
    ),
    response_target("find_coordinator", _find_coordinator(), _find),
    response_target("list_groups", _list_groups(), lambda cluster: list_groups(cluster, deadline_s=0)),
    response_target(
        "describe_groups", _describe_groups(), lambda cluster: describe_groups(cluster, ["g"], deadline_s=0)
    ),
    response_target("delete_groups", _delete_groups(), lambda cluster: delete_groups(cluster, ["g"], deadline_s=0)),
    response_target(
        "offset_delete",
        _offset_delete(),
        lambda cluster: delete_group_offsets(cluster, "g", [("t", 0)], deadline_s=0),
    ),
]
