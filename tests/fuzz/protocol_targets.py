"""Responses on the hot path, which our own code parses."""

from __future__ import annotations

import uuid

from kafka.protocol.consumer import FetchResponse
from kafka.protocol.producer import ProduceResponse

from sparkmirror.protocol import fetch, produce
from tests.fuzz.target import Target

_TOPIC_ID = uuid.UUID(int=7)


def _fetch_response(version: int) -> bytes:
    topic = FetchResponse.FetchableTopicResponse
    partition = topic.PartitionData
    partitions = [
        partition(
            partition_index=index,
            error_code=0,
            high_watermark=100,
            last_stable_offset=90,
            log_start_offset=10,
            aborted_transactions=[partition.AbortedTransaction(producer_id=4711, first_offset=12)] if index else None,
            preferred_read_replica=-1,
            records=b"some records" if index else None,
        )
        for index in range(2)
    ]
    topics = [topic(topic="t", topic_id=_TOPIC_ID, partitions=partitions)] * 2
    response = FetchResponse(throttle_time_ms=5, error_code=0, session_id=77, responses=topics)
    return bytes(response.encode(version=version))


def _produce_response(version: int) -> bytes:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    partitions = [
        partition(
            index=index,
            error_code=index * 45,
            base_offset=12,
            log_append_time_ms=-1,
            log_start_offset=4,
            record_errors=[partition.BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="no")] * index,
            error_message="out of order" if index else None,
        )
        for index in range(2)
    ]
    topics = [topic(name="t", topic_id=_TOPIC_ID, partition_responses=partitions)] * 2
    return bytes(ProduceResponse(responses=topics, throttle_time_ms=8).encode(version=version))


def _fetch_target(version: int) -> Target:
    def run(data: bytes) -> None:
        fetch.parse_fetch(version, memoryview(data))

    return Target(f"fetch_v{version}", run, [_fetch_response(version)])


def _produce_target(version: int) -> Target:
    def run(data: bytes) -> None:
        produce.parse_produce(version, memoryview(data))

    return Target(f"produce_v{version}", run, [_produce_response(version)])


TARGETS = [
    _fetch_target(fetch.BY_NAME),
    _fetch_target(fetch.BY_ID),
    _produce_target(produce.BY_NAME),
    _produce_target(produce.BY_ID),
]
