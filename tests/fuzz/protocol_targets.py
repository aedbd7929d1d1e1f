"""Responses on the hot path, which our own code parses."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from kafka.protocol.consumer import FetchResponse, ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceResponse, WriteTxnMarkersResponse

from sparkmirror.protocol import fetch, list_offsets, markers, metadata, produce
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


def _metadata() -> Any:
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition(
        error_code=0,
        partition_index=0,
        leader_id=1,
        leader_epoch=5,
        replica_nodes=[1, 2],
        isr_nodes=[1],
        offline_replicas=[2],
    )
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=n, host=f"host{n}", port=9092, rack="r") for n in (1, 2)
        ],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            topic(error_code=0, name=name, topic_id=uuid.UUID(int=7), is_internal=False, partitions=[partition] * 2)
            for name in ("t", "u")
        ],
    )


def _list_offsets() -> Any:
    topic = ListOffsetsResponse.ListOffsetsTopicResponse
    partition = topic.ListOffsetsPartitionResponse(
        partition_index=0, error_code=0, timestamp=-1, offset=42, leader_epoch=5, old_style_offsets=[42]
    )
    return ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name="t", partitions=[partition] * 2)])


def _marker_response(version: int) -> bytes:
    result = WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = result.WritableTxnMarkerTopicResult
    partition = topic.WritableTxnMarkerPartitionResult
    partitions = [partition(partition_index=index, error_code=index * 52) for index in range(2)]
    results = [result(producer_id=7, topics=[topic(name="t", partitions=partitions)] * 2)]
    return bytes(WriteTxnMarkersResponse(markers=results).encode(version=version))


def _discard(_: object) -> None:
    return


def parse_target(name: str, version: int, response: bytes, parse: Callable[[int, memoryview], object]) -> Target:
    return Target(f"{name}_v{version}", lambda data: _discard(parse(version, memoryview(data))), [response])


TARGETS = [
    *(parse_target("fetch", v, _fetch_response(v), fetch.parse_fetch) for v in (fetch.BY_NAME, fetch.BY_ID)),
    *(
        parse_target("produce", v, _produce_response(v), produce.parse_produce)
        for v in (produce.BY_NAME, produce.BY_ID)
    ),
    *(
        parse_target("metadata", v, bytes(_metadata().encode(version=v)), metadata.parse_metadata)
        for v in (metadata.BY_NAME, metadata.WITH_IDS)
    ),
    parse_target(
        "list_offsets",
        list_offsets.VERSION,
        bytes(_list_offsets().encode(version=list_offsets.VERSION)),
        lambda _, frame: list_offsets.parse_list_offsets(frame),
    ),
    *(parse_target("markers", v, _marker_response(v), markers.parse_markers) for v in (0, 1)),
]
