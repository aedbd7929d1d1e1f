"""Responses of the control plane, which kafka-python decodes, and what our code makes of them.

The first byte of an input says in which version the rest is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import CreatePartitionsResponse, CreateTopicsResponse, DescribeProducersResponse
from kafka.protocol.consumer import OffsetForLeaderEpochResponse
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.producer import InitProducerIdResponse

from sparkmirror.errors import BrokerError, ProtocolError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import describe_producer, fetch_epoch_ends
from sparkmirror.net.response import decode_response
from sparkmirror.offsets.internal_topic import create_topic
from tests.fuzz.target import Target

_LEADERS = {("t", 0): Leader(1, 5)}


class _OneAnswer(Cluster):
    """A cluster whose brokers answer everything with the same bytes."""

    def __init__(self, response_class: Any, version: int, frame: memoryview) -> None:
        super().__init__(ClusterAddress(alias="a", bootstrap=()))
        self._answer = response_class, frame, version

    def call(self, node: int, request: Any, timeout_s: float = 0, *, most_version: int | None = None) -> Any:
        return decode_response(*self._answer, sender="a broker")

    def supports(self, node: int, api_key: int) -> bool:
        return True

    def call_any(self, request: Any, timeout_s: float = 0) -> Any:
        return self.call(1, request)

    def call_controller(self, request: Any, timeout_s: float = 0) -> Any:
        return self.call(1, request)


def _target(name: str, example: Any, use: Callable[[Cluster], object]) -> Target:
    response_class = type(example)
    versions = range(response_class.min_version, response_class.max_version + 1)

    def run(data: bytes) -> None:
        version = versions[data[0] % len(versions)] if data else versions[0]
        use(_OneAnswer(response_class, version, memoryview(data)[1:]))

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


def _epoch_ends() -> Any:
    topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    answer = topic.EpochEndOffset(error_code=0, partition=0, leader_epoch=3, end_offset=50)
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[topic(topic="t", partitions=[answer])])


TARGETS = [
    _target("describe_producers", _describe_producers(), lambda cluster: describe_producer(cluster, _LEADERS, 7)),
    _target("epoch_ends", _epoch_ends(), lambda cluster: fetch_epoch_ends(cluster, _LEADERS, {("t", 0): 2})),
    _target("create_topics", _create_topics(), lambda cluster: create_topic(cluster, "t", 1, 1)),
    _target("create_partitions", _create_partitions(), _decode_only),
    _target("api_versions", _api_versions(), _decode_only),
    _target(
        "init_producer_id",
        InitProducerIdResponse(throttle_time_ms=0, error_code=0, producer_id=4000, producer_epoch=0),
        _decode_only,
    ),
]
