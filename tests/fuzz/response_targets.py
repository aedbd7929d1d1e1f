"""Responses of the control plane, which kafka-python decodes, and what our code makes of them.

The first byte of an input says in which version the rest is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kafka.protocol.admin import (
    CreateAclsResponse,
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
    DescribeAclsResponse,
    DescribeConfigsResponse,
    DescribeProducersResponse,
    DescribeQuorumResponse,
    IncrementalAlterConfigsResponse,
)
from kafka.protocol.consumer import OffsetForLeaderEpochResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.producer import InitProducerIdResponse

from sparkmirror.errors import BrokerError, ProtocolError
from sparkmirror.net.acls import create_topic_acls, describe_topic_acls
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.clock import WITH_TIMES, read_clock
from sparkmirror.net.cluster import Cluster, Leader, Metadata
from sparkmirror.net.configs import change_topic_configs, describe_topic_configs
from sparkmirror.net.offsets import describe_producer, fetch_epoch_ends
from sparkmirror.net.response import decode_response
from sparkmirror.net.rights import fetch_rights
from sparkmirror.net.topics import TopicShape, create_topic, delete_topic
from sparkmirror.protocol.metadata import BrokerPlace
from sparkmirror.topology.acls import Acl
from sparkmirror.topology.topic_configs import ConfigChanges
from tests.fuzz.target import Target

_LEADERS = {("t", 0): Leader(1, 5)}
_SOME_ID = str(uuid.UUID(int=7))


class OneAnswer(Cluster):
    """A cluster whose brokers answer everything with the same bytes."""

    def __init__(self, response_class: Any, version: int, frame: memoryview) -> None:
        super().__init__(ClusterAddress(alias="a", bootstrap=()))
        self._answer = response_class, frame, version
        self.coordinators = {"g": 1}

    def fetch_metadata(self, topics: Sequence[str] | None = None) -> Metadata:
        return Metadata("c", 1, {1: BrokerPlace(1, "host1", 9092)}, {})

    def call(self, node: int, request: Any, *, most_version: int | None = None) -> Any:
        return decode_response(*self._answer, sender="a broker")

    def supports(self, node: int, api_key: int) -> bool:
        return True

    def call_any(self, request: Any, *, most_version: int | None = None) -> Any:
        return self.call(1, request)

    def call_controller(self, request: Any, *, most_version: int | None = None) -> Any:
        return self.call(1, request)


def response_target(name: str, example: Any, use: Callable[[Cluster], object], oldest: int = 0) -> Target:
    response_class = type(example)
    versions = range(max(oldest, response_class.min_version), response_class.max_version + 1)

    def run(data: bytes) -> None:
        version = versions[data[0] % len(versions)] if data else versions[0]
        use(OneAnswer(response_class, version, memoryview(data)[1:]))

    inputs = [bytes([i]) + bytes(example.encode(version=version)) for i, version in enumerate(versions)]
    return Target(name, run, inputs, (ProtocolError, BrokerError))


def _decode_only(cluster: Cluster) -> object:
    return cluster.call(1, None)


def _describe_producers() -> Any:
    topic = DescribeProducersResponse.TopicResponse
    partition = topic.PartitionResponse
    state = partition.ProducerState(
        producer_id=7,
        producer_epoch=0,
        last_sequence=9,
        last_timestamp=1,
        coordinator_epoch=-1,
        current_txn_start_offset=-1,
    )
    answer = partition(partition_index=0, error_code=0, error_message=None, active_producers=[state] * 2)
    return DescribeProducersResponse(throttle_time_ms=0, topics=[topic(name="t", partitions=[answer])])


def _create_topics() -> Any:
    topic = CreateTopicsResponse.CreatableTopicResult
    config = topic.CreatableTopicConfigs(name="k", value="v", read_only=False, config_source=5, is_sensitive=False)
    answer = topic(
        name="t",
        topic_id=uuid.UUID(int=7),
        error_code=0,
        error_message=None,
        num_partitions=1,
        replication_factor=1,
        configs=[config],
    )
    return CreateTopicsResponse(throttle_time_ms=0, topics=[answer])


def _create_partitions() -> Any:
    answer = CreatePartitionsResponse.CreatePartitionsTopicResult(name="t", error_code=37, error_message="no")
    return CreatePartitionsResponse(throttle_time_ms=0, results=[answer] * 2)


def _api_versions() -> Any:
    feature = ApiVersionsResponse.SupportedFeatureKey(name="metadata.version", min_version=1, max_version=25)
    keys = [ApiVersionsResponse.ApiVersion(api_key=k, min_version=0, max_version=13) for k in range(4)]
    return ApiVersionsResponse(error_code=0, api_keys=keys, throttle_time_ms=0, supported_features=[feature])


def _describe_configs() -> Any:
    topic = DescribeConfigsResponse.DescribeConfigsResult
    config = topic.DescribeConfigsResourceResult(
        name="retention.ms",
        value="1",
        read_only=False,
        is_default=False,
        config_source=1,
        is_sensitive=False,
        synonyms=[],
    )
    answer = topic(error_code=0, error_message=None, resource_type=2, resource_name="t", configs=[config])
    return DescribeConfigsResponse(throttle_time_ms=0, results=[answer])


def _alter_configs() -> Any:
    kind = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    answer = kind(error_code=40, error_message="no", resource_type=2, resource_name="t")
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[answer])


def _describe_acls() -> Any:
    kind = DescribeAclsResponse.DescribeAclsResource
    acl = kind.AclDescription(principal="User:x", host="*", operation=3, permission_type=3)
    resource = kind(resource_type=2, resource_name="t", pattern_type=3, acls=[acl] * 2)
    return DescribeAclsResponse(throttle_time_ms=0, error_code=0, error_message=None, resources=[resource])


def _create_acls() -> Any:
    answer = CreateAclsResponse.AclCreationResult(error_code=0, error_message=None)
    return CreateAclsResponse(throttle_time_ms=0, results=[answer])


def _delete_topics() -> Any:
    kind = DeleteTopicsResponse.DeletableTopicResult
    answer = kind(name="t", topic_id=uuid.UUID(_SOME_ID), error_code=0, error_message=None)
    return DeleteTopicsResponse(throttle_time_ms=0, responses=[answer])


def _epoch_ends() -> Any:
    topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    answer = topic.EpochEndOffset(error_code=0, partition=0, leader_epoch=3, end_offset=50)
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[topic(topic="t", partitions=[answer])])


def _metadata() -> Any:
    kind = MetadataResponse.MetadataResponseTopic
    partition = kind.MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=1, leader_epoch=5, replica_nodes=[1, 2], isr_nodes=[1]
    )
    answer = kind(error_code=0, name="t", is_internal=False, partitions=[partition], authorized_operations={3, 4})
    return MetadataResponse(brokers=[], cluster_id="c", controller_id=1, topics=[answer], authorized_operations={8})


def _quorum() -> Any:
    kind = DescribeQuorumResponse.TopicData
    voter = kind.PartitionData.ReplicaState(replica_id=1, log_end_offset=9, last_fetch_timestamp=7)
    answer = kind.PartitionData(partition_index=0, leader_id=1, current_voters=[voter], observers=[])
    return DescribeQuorumResponse(error_code=0, topics=[kind(topic_name="m", partitions=[answer])], nodes=[])


TARGETS = [
    response_target("rights", _metadata(), lambda cluster: fetch_rights(cluster, ["t"])),
    response_target("clock", _quorum(), read_clock, oldest=WITH_TIMES),
    response_target("describe_configs", _describe_configs(), lambda cluster: describe_topic_configs(cluster, ["t"])),
    response_target(
        "alter_configs",
        _alter_configs(),
        lambda cluster: change_topic_configs(cluster, {"t": ConfigChanges(set={"k": "v"})}),
    ),
    response_target("describe_acls", _describe_acls(), describe_topic_acls),
    response_target(
        "create_acls",
        _create_acls(),
        lambda cluster: create_topic_acls(cluster, [Acl("t", 3, "User:x", "*", 3, 3)]),
    ),
    response_target("delete_topics", _delete_topics(), lambda cluster: delete_topic(cluster, "t", _SOME_ID)),
    response_target(
        "describe_producers", _describe_producers(), lambda cluster: describe_producer(cluster, _LEADERS, 7)
    ),
    response_target("epoch_ends", _epoch_ends(), lambda cluster: fetch_epoch_ends(cluster, _LEADERS, {("t", 0): 2})),
    response_target("create_topics", _create_topics(), lambda cluster: create_topic(cluster, TopicShape("t", 1, 1))),
    response_target("create_partitions", _create_partitions(), _decode_only),
    response_target("api_versions", _api_versions(), _decode_only),
    response_target(
        "init_producer_id",
        InitProducerIdResponse(throttle_time_ms=0, error_code=0, producer_id=4000, producer_epoch=0),
        _decode_only,
    ),
]
